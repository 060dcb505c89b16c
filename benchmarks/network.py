"""What a network costs: parameters, GMAC, milliseconds a 720p frame by runtime, peak memory, training crops a second.

python benchmarks/network.py [swift paper ...] [--family] [--threads 2] [--repeats 10] [--train]

Every measurement runs in a process of its own. `ms` is the best wall time, context branch and normalisation included;
`cpu` the processor time of the same run on one thread, which other work on the machine disturbs less.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from plucc.config import Spec, load_preset
from plucc.types import ImageArray

HEIGHT, WIDTH = 720, 1280
CROP_PX, CROPS = 384, 8
RUNTIMES = ("torch", "onnx", "openvino")
STEM5 = "{width: 16, kernel: 5, stride: 2}"
UNFOLDED = "network.fold_finer=false"  # for encoders without a feature at stride 2 too
POOLED = "{{width: {}, kernel: 7, stride: 2, pool: true}}"


def _stages(*rows: str) -> str:
    fields = (row.split() for row in rows)
    texts = (
        f"{{width: {width}, depth: {depth}, stride: {stride}, block: {block}}}"
        for width, depth, stride, block in fields
    )
    return f"[{', '.join(texts)}]"


def _pyramid(stem: str, *rows: str) -> str:
    return f"network.frame={{kind: pyramid, stem: {stem}, stages: {_stages(*rows)}}}"


PLAIN = _pyramid("{width: 16, kernel: 3, stride: 2}", "32 1 2 basic", "48 2 2 basic", "96 3 2 basic", "160 2 2 basic")
FAMILY: dict[str, list[str]] = {
    "swift": [],
    "swift, no context": ["network.context=null"],
    "swift, finer feature left out": [UNFOLDED],
    "swift, separable decoder": ["network.decoder_block=separable"],
    "swift, decoded at stride 2": ["network.decoder_widths=[96, 80, 48, 32, 16]", UNFOLDED],
    "residual pyramid": [PLAIN],
    "space-to-depth 4 stem": [
        _pyramid(
            "{kind: space-to-depth, width: 32, kernel: 3, stride: 4}",
            "32 1 1 basic",
            "48 2 2 basic",
            "96 3 2 basic",
            "160 2 2 basic",
        ),
        UNFOLDED,
    ],
    "quarter ResNet-18": [
        _pyramid(POOLED.format(16), "16 2 1 basic", "32 2 2 basic", "64 2 2 basic", "128 2 2 basic"),
        "network.decoder_widths=[96, 64, 32, 24]",
        UNFOLDED,
    ],
    "half ResNet-18": [
        _pyramid(POOLED.format(32), "32 2 1 basic", "64 2 2 basic", "128 2 2 basic", "256 2 2 basic"),
        "network.decoder_widths=[128, 96, 48, 32]",
        UNFOLDED,
    ],
    "inverted residuals": [
        _pyramid(STEM5, "24 2 2 inverted", "48 3 2 inverted", "96 4 2 inverted", "160 2 2 inverted"),
        "network.decoder_block=separable",
    ],
    "ConvNeXt-like": [
        _pyramid(STEM5, "24 2 2 convnext", "48 3 2 convnext", "96 4 2 convnext", "160 2 2 convnext"),
        "network.decoder_block=separable",
    ],
    "timm mobilenetv4_conv_small": ["network.frame={kind: timm, name: mobilenetv4_conv_small}"],
    "timm efficientnet_lite0": ["network.frame={kind: timm, name: efficientnet_lite0}"],
    "timm resnet18": ["network.frame={kind: timm, name: resnet18}"],
}


def main() -> None:
    """Print the table."""
    options = _options()
    if options.child:
        sys.stdout.write(json.dumps(_measure(options)))
        return
    specs = {name: load_preset(name) for name in options.presets}
    if options.family:
        specs |= {name: load_preset("swift", overrides) for name, overrides in FAMILY.items()}
    table = Table(title=f"{HEIGHT}x{WIDTH}, {options.threads} threads")
    runtimes = [f"{name} {unit}" for name in RUNTIMES for unit in ("ms", "cpu", "MB")]
    for heading in ("network", "M parameters", "GMAC", *runtimes, *(["crops/s"] if options.train else [])):
        table.add_column(heading, justify="right")
    with tempfile.TemporaryDirectory() as folder:
        for name, spec in specs.items():
            table.add_row(*_row(name, spec, Path(folder), options))
    Console(width=180).print(table)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("presets", nargs="*", default=[])
    parser.add_argument("--family", action="store_true", help="all compact candidates")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--train", action="store_true", help=f"training on {CROPS} crops of {CROP_PX} px")
    parser.add_argument("--int8", action="store_true", help="run the exported model in 8 bits")
    parser.add_argument("--child", choices=(*RUNTIMES, "train"), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.presets and not options.family:
        options.presets = ["swift"]
    return options


def _row(name: str, spec: Spec, folder: Path, options: argparse.Namespace) -> list[str]:
    parameters, gmac = _prepare(spec, folder, int8=options.int8)
    cells = [name, f"{parameters / 1e6:.2f}", f"{gmac:.2f}"]
    for runtime in RUNTIMES:
        wide = _child(runtime, folder, options, options.threads)
        narrow = _child(runtime, folder, options, 1)
        cells += [f"{wide['ms']:.0f}", f"{narrow['cpu']:.0f}", f"{wide['mb']:.0f}"]
    if options.train:
        cells.append(f"{_child('train', folder, options, options.threads)['crops']:.1f}")
    return cells


def _prepare(spec: Spec, folder: Path, *, int8: bool) -> tuple[int, float]:
    """Write checkpoint and model of a fresh network with settled statistics; return its parameters and GMAC."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    from plucc.export import export_checkpoint
    from plucc.network.checkpoint import save_checkpoint
    from plucc.network.plucc import build_plucc

    torch.manual_seed(0)
    network = build_plucc(spec.network).train()
    with torch.no_grad():
        for _ in range(20):
            network(torch.randn(2, 3, 96, 128), torch.randn(2, 3, 48, 64))
    save_checkpoint(folder / "network.ckpt", network, spec, {})
    pictures = [_pictures()] if int8 else []
    if int8:
        import plucc.export

        plucc.export.INT8_SHIFT_PX = float("inf")  # fresh weights have no peak to keep; only the time matters here
    export_checkpoint(
        folder / "network.ckpt", folder / "network.onnx", precision="int8" if int8 else "fp32", pictures=pictures
    )
    hollow = network.eval().to("meta")
    with FlopCounterMode(display=False) as counter:
        hollow(
            torch.empty(1, 3, HEIGHT, WIDTH, device="meta"), torch.empty(1, 3, HEIGHT // 2, WIDTH // 2, device="meta")
        )
    return sum(value.numel() for value in network.parameters()), counter.get_total_flops() / 2e9


def _child(what: str, folder: Path, options: argparse.Namespace, threads: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--child", what, "--folder", str(folder), "--threads", str(threads)]
    finished = subprocess.run([*command, "--repeats", str(options.repeats)], capture_output=True, text=True, check=True)
    measured: dict[str, float] = json.loads(finished.stdout)
    return measured


def _measure(options: argparse.Namespace) -> dict[str, float]:
    if options.child == "train":
        return _train(options.folder, options.threads, options.repeats)
    if options.child == "torch":
        from plucc.export import load_eager

        runtime = load_eager(options.folder / "network.ckpt", threads=options.threads)
    else:
        from plucc.runtime.load import load_runtime

        runtime = load_runtime(options.folder / "network.onnx", backend=options.child, threads=options.threads)
    frames, contexts = _pictures()
    seconds, cpu_seconds = _best(lambda: runtime(frames, contexts), options.repeats)
    return {"ms": seconds * 1e3, "cpu": cpu_seconds * 1e3, "mb": _peak_mb()}


def _peak_mb() -> float:
    """Return the most memory this process ever held; getrusage would count what its parent held before it started."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) / 1e3


def _train(folder: Path, threads: int, repeats: int) -> dict[str, float]:
    import torch

    from plucc.network.checkpoint import load_checkpoint

    torch.set_num_threads(threads)
    layout = torch.channels_last
    network = load_checkpoint(folder / "network.ckpt").network.train().to(memory_format=layout)
    frames = torch.randn(CROPS, 3, CROP_PX, CROP_PX).contiguous(memory_format=layout)
    contexts = torch.randn(CROPS, 3, CROP_PX // 2, CROP_PX // 2).contiguous(memory_format=layout)
    target = torch.arange(CROPS)

    def step() -> None:
        output = network(frames, contexts)
        logits = output[0] if isinstance(output, tuple) else output
        torch.nn.functional.cross_entropy(logits.flatten(1), target).backward()

    return {"crops": CROPS / _best(step, repeats)[0]}


def _pictures() -> tuple[ImageArray, ImageArray]:
    frames = np.random.default_rng(0).integers(0, 256, (1, HEIGHT, WIDTH, 3), np.uint8)
    return frames, frames[:, ::2, ::2].copy()


def _best(work: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Return the shortest wall and processor time of several runs after one that does not count."""
    work()
    times = []
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        times.append((time.perf_counter() - wall, time.process_time() - cpu))
    return min(wall for wall, _ in times), min(cpu for _, cpu in times)


if __name__ == "__main__":
    main()
