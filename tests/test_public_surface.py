"""What users may rely on: the names in `plucc.__all__`, and that the core runs without torch."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import plucc

SURFACE = [
    "Box",
    "Camera",
    "Category",
    "Dataset",
    "Frame",
    "Homography",
    "Locator",
    "Observation",
    "PluccError",
    "Point",
    "Record",
    "Row",
    "Settings",
    "Sheet",
    "Size",
    "Source",
    "Span",
    "locate",
    "read_dataset",
    "read_frames",
    "read_image",
    "read_rows",
    "sheet_by_name",
    "write_rows",
]
ROOT = Path(plucc.__file__).parent
TORCH_ROOMS = ("network", "training", "export", "quantise", "metrics.accumulators", "runtime.torch")
EXTRAS = ("torch", "torchvision", "timm", "lightning", "torchmetrics", "transformers", "onnx", "openvino", "pyarrow")


def core_modules() -> list[str]:
    files = (path.relative_to(ROOT).with_suffix("") for path in ROOT.rglob("*.py"))
    names = [".".join(file.parts) for file in files]
    return sorted(name for name in names if not name.startswith(TORCH_ROOMS) and not name.endswith("__init__"))


def test_the_surface_is_what_it_says() -> None:
    assert plucc.__all__ == SURFACE == sorted(SURFACE)
    assert dir(plucc) == SURFACE


@pytest.mark.parametrize("name", SURFACE)
def test_every_name_is_there_and_stays_what_it_is(name: str) -> None:
    first = getattr(plucc, name)
    assert callable(first)
    import_module(first.__module__)  # a module of the same name must not take the place of what it holds
    assert getattr(plucc, name) is first


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'puck'"):
        plucc.puck  # noqa: B018


def test_every_core_module_imports_without_the_extras() -> None:
    program = (
        "import sys, importlib\n"
        f"for name in {EXTRAS!r}: sys.modules[name] = None\n"
        f"for name in {core_modules()!r}: importlib.import_module('plucc.' + name)\n"
    )
    assert len(core_modules()) > 60
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
