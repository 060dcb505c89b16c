"""What `plucc doctor` finds out: versions, devices, extras, weights."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from rich.console import Group
from rich.table import Table

import plucc

CORE = ("numpy", "scipy", "opencv-python-headless", "av", "onnxruntime", "pydantic")
EXTRAS = {
    "train": ("torch", "torchvision", "timm", "lightning", "torchmetrics", "transformers", "onnx"),
    "openvino": ("openvino",),
    "parquet": ("pyarrow",),
}


def report() -> Group:
    """Return the findings as printable tables."""
    return Group(_versions(), _extras(), _devices(), _weights())


def _installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", show_header=False, box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _versions() -> Table:
    table = _table("Versions", "package", "version")
    table.add_row("plucc", version("plucc"))
    table.add_row("python", f"{platform.python_version()} on {platform.system()} {platform.machine()}")
    for package in CORE:
        table.add_row(package, _installed(package) or "[red]missing[/]: pip install plucc again")
    return table


def _extras() -> Table:
    table = _table("\nExtras", "extra", "state")
    for extra, packages in EXTRAS.items():
        found = {package: _installed(package) for package in packages}
        missing = [package for package, number in found.items() if number is None]
        if missing:
            table.add_row(extra, f"not installed ({', '.join(missing)}): pip install 'plucc\\[{extra}]'")
        else:
            table.add_row(extra, ", ".join(f"{package} {number}" for package, number in found.items()))
    return table


def _devices() -> Table:
    import onnxruntime

    table = _table("\nDevices", "runtime", "devices")
    table.add_row("processor", f"{os.cpu_count()} cores")
    table.add_row("ONNX Runtime", ", ".join(onnxruntime.get_available_providers()))
    if find_spec("openvino"):
        import openvino

        table.add_row("OpenVINO", ", ".join(openvino.Core().available_devices))
    if find_spec("torch"):
        table.add_row("torch", ", ".join(_torch_devices()))
    return table


def _torch_devices() -> list[str]:
    import torch

    devices = ["cpu"]
    devices += [f"cuda:{index} {torch.cuda.get_device_name(index)}" for index in range(torch.cuda.device_count())]
    if torch.backends.mps.is_available():
        devices.append("mps")
    return devices


def _weights() -> Table:
    table = _table("\nWeights", "file", "size")
    folder = Path(plucc.__file__).parent / "weights"
    files = sorted(folder.glob("*.onnx"))
    for file in files:
        table.add_row(file.name, f"{file.stat().st_size / 1e6:.1f} MB")
    if not files:
        table.add_row("none found", f"expected *.onnx in {folder}")
    return table
