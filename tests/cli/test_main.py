"""The command as a user starts it: a process of its own, judged by what it prints and how it exits."""

import subprocess
import sys

import pytest

HEAVY = ("torch", "cv2", "onnxruntime", "scipy", "av", "lightning")


def run_plucc(*arguments: str) -> subprocess.CompletedProcess[str]:
    program = "from plucc.cli.main import run; run()"
    return subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False)


def test_help_imports_nothing_heavy() -> None:
    program = (
        "import sys\nfrom plucc.cli.main import run\n"
        "try:\n    run()\nexcept SystemExit as end:\n    assert end.code == 0\n"
        f"print('loaded', [name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program, "--help"], capture_output=True, text=True, check=True)
    assert "doctor" in done.stdout
    assert done.stdout.splitlines()[-1] == "loaded []"


def test_version_is_the_package_version() -> None:
    from importlib.metadata import version

    assert run_plucc("--version").stdout.strip() == f"plucc {version('plucc')}"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["dataa"], "Did you mean 'data'"),
        (["data", "check"], "Missing argument"),
        (["data", "check", "no-such-folder"], "no-such-folder"),
        (["--no-such-option"], "--no-such-option"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments: list[str], words: str) -> None:
    done = run_plucc(*arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.startswith("error: ")
    assert len(done.stderr.strip().splitlines()) == 1


def test_debug_shows_the_traceback_wherever_it_stands() -> None:
    done = run_plucc("data", "check", "no-such-folder", "--debug")
    assert done.returncode == 1
    assert "Traceback" in done.stderr


def test_doctor_tells_versions_extras_devices_and_weights() -> None:
    from importlib.metadata import version

    done = run_plucc("doctor")
    assert done.returncode == 0
    for word in (version("numpy"), version("onnxruntime"), "CPUExecutionProvider", "train", "openvino", "Weights"):
        assert word in done.stdout
