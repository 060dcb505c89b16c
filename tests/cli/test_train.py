"""`plucc train` refuses what cannot be right, in one sentence."""

import subprocess
import sys
from pathlib import Path

import pytest

from plucc.cli.main import app
from plucc.types import ConfigError


def call(*arguments: str) -> None:
    app(args=["train", *arguments], prog_name="plucc", standalone_mode=False)


def test_wrong_key_is_refused_and_the_nearest_named() -> None:
    with pytest.raises(ConfigError, match=r"train\.lrr is not a setting: did you mean train\.lr\?"):
        call("swift", "--set", "train.lrr=1")


def test_unknown_config_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.yaml does not exist"):
        call("nowhere.yaml")


def test_training_without_data_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"data\.datasets is empty"):
        call("swift", "--run", str(tmp_path / "run"))


def test_help_does_not_load_torch() -> None:
    program = "import sys, plucc.cli.main; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
