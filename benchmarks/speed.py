"""How fast every method is at 720p on this machine, alone and with all that it needs, in one run.

    python benchmarks/speed.py [--only swift paper ...] [--threads 2] [--repeats 3]

PLUCC needs players: `swift` finds them with the shipped network, `paper` as published, with a detector and SAM 2
(D-FINE and SAM 2.1 tiny here, twelve players a frame). Detectors and the FCN need nothing else. Weights that do not
ship are random: they cost the same. Every method runs in a process of its own, so that memory is its own.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

HEIGHT, WIDTH, PLAYERS = 720, 1280, 12
METHODS = ("swift", "paper", "fcn-resnet152", "faster-rcnn", "yolov5", "d-fine")
PAPER_FRAMES_PER_S = {  # on an RTX 6000; with what it needs in brackets there
    "paper": "53.3 (6.0)",
    "fcn-resnet152": "54.1",
    "faster-rcnn": "50.1",
    "yolov5": "128.9",
}
Work = Callable[[], object]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=list(METHODS), choices=METHODS)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--child", choices=METHODS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        sys.stdout.write(json.dumps(_measure(options.child, options.threads, options.repeats)))
        return
    table = Table(title=f"{WIDTH}x{HEIGHT}, {options.threads} threads of a CPU, best of {options.repeats}")
    heads = (
        "method",
        "M parameters",
        "alone, ms",
        "frames/s",
        "with players, ms",
        "frames/s*",
        "peak MB",
        "paper, GPU",
    )
    for heading in heads:
        table.add_column(heading, justify="right")
    for name in options.only:
        table.add_row(name, *_cells(_child(name, options)), PAPER_FRAMES_PER_S.get(name, "–"))
    Console(width=140).print(table)


def _child(name: str, options: argparse.Namespace) -> dict[str, Any]:
    command = [sys.executable, __file__, "--child", name, "--threads", str(options.threads)]
    done = subprocess.run([*command, "--repeats", str(options.repeats)], capture_output=True, text=True, check=False)
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1]
        return {"fault": "not installed" if "MissingExtraError" in last else last[:60]}
    measured: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return measured


def _cells(measured: dict[str, Any]) -> list[str]:
    if "fault" in measured:
        return [measured["fault"], *["–"] * 5]
    alone, whole = measured["alone"], measured["whole"]
    return [
        f"{measured['parameters'] / 1e6:.1f}",
        f"{1e3 * alone:.0f}",
        f"{1 / alone:.1f}",
        f"{1e3 * whole:.0f}",
        f"{1 / whole:.1f}",
        f"{measured['mb']:.0f}",
    ]


def _measure(name: str, threads: int, repeats: int) -> dict[str, float]:
    openers = {"swift": _open_swift, "paper": _open_network, "fcn-resnet152": _open_network}
    parameters, look, players = openers.get(name, _open_detector)(name, threads)
    alone = _best(look, repeats)
    needed = 0.0 if players is None else _best(players, repeats)
    return {"parameters": parameters, "alone": alone, "whole": alone + needed, "mb": _peak_mb()}


def _open_swift(_name: str, threads: int) -> tuple[int, Work, Work | None]:
    import onnx

    from plucc.context.image import context_image
    from plucc.context.shipped import ShippedFinder
    from plucc.loading import SHIPPED_MODEL
    from plucc.runtime.load import load_runtime

    runtime, finder, frame = load_runtime(SHIPPED_MODEL, threads=threads), ShippedFinder(threads=threads), _frame()
    context = context_image(frame, finder(frame))
    count = sum(int(np.prod(value.dims)) for value in onnx.load(SHIPPED_MODEL).graph.initializer)
    return count, lambda: runtime(frame[None], context[None]), lambda: context_image(frame, finder(frame))


def _open_network(name: str, threads: int) -> tuple[int, Work, Work | None]:
    import torch

    from plucc.config import load_preset
    from plucc.network.deploy import Deployable
    from plucc.network.plucc import build_plucc
    from plucc.runtime.card import ModelCard
    from plucc.runtime.torch import TorchRuntime

    torch.set_num_threads(threads)
    spec = load_preset(name)
    network = build_plucc(spec.network, pretrained=False).eval()
    card = ModelCard(spec=spec.network, heatmap=spec.heatmap, version="0")
    runtime = TorchRuntime(Deployable(network, spec.network), card, threads=threads)
    frame = _frame()[None]
    context = frame[:, ::2, ::2].copy() if card.uses_context else None
    count = sum(value.numel() for value in network.parameters())
    return count, lambda: runtime(frame, context), _published_players() if card.uses_context else None


def _published_players() -> Work:
    """Return the paper's way to a context image: people by a detector, each drawn by SAM 2."""
    import torch
    from transformers import Sam2Config, Sam2Model

    from plucc.config import DFineSpec
    from plucc.network.dfine import DFine

    detector = DFine(DFineSpec(kind="d-fine")).eval()
    segmenter = Sam2Model(Sam2Config()).eval()
    small, large = torch.rand(1, 3, 640, 640), torch.rand(1, 3, 1024, 1024)
    corners = torch.rand(1, PLAYERS, 2) * 800
    boxes = torch.cat((corners, corners + 60), dim=2)

    @torch.inference_mode()
    def find() -> None:
        detector(small)
        segmenter(pixel_values=large, input_boxes=boxes, multimask_output=False)

    return find


def _open_detector(name: str, threads: int) -> tuple[int, Work, Work | None]:
    from plucc.config import load_preset
    from plucc.network.detectors import DetectorRuntime, build_detector

    spec = load_preset(name).detector
    if spec is None:
        raise SystemExit(f"{name} is no detector")
    detector = build_detector(spec, pretrained=False)
    runtime, frame = DetectorRuntime(detector, name, threads=threads), _frame()
    return sum(value.numel() for value in detector.parameters()), lambda: runtime(frame), None


def _frame() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (HEIGHT, WIDTH, 3), np.uint8)


def _peak_mb() -> float:
    """Return the most memory this process ever held."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) / 1e3


def _best(work: Work, repeats: int) -> float:
    """Return the shortest time of several runs after one that does not count."""
    work()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


if __name__ == "__main__":
    main()
