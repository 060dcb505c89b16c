"""Training throughput: what a crop costs in the network and in the loader, and how the two share the cores.

    python benchmarks/training.py network --preset swift
    python benchmarks/training.py loader --config hockeyai
    python benchmarks/training.py together --config hockeyai

Columns in CPU milliseconds do not depend on who else uses the machine; crops a second do.
"""

import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import torch
import typer
from rich.console import Console
from rich.table import Table
from torch import Tensor

from plucc.config import Spec, load_config
from plucc.network.plucc import build_plucc
from plucc.training.dataset import TrainingSamples, collate, use_one_thread
from plucc.training.depthwise import keep_depthwise_full
from plucc.training.mixture import MixtureBatches, ResumableLoader
from plucc.training.objective import Objective
from plucc.training.sources import open_sources
from plucc.training.validation import normalised

app = typer.Typer(help=__doc__, no_args_is_help=True)
console = Console()
Config = Annotated[str, typer.Option("--config", "--preset", help="A preset or YAML file.")]
Steps = Annotated[int, typer.Option(help="Timed steps of each row.")]


@dataclass(frozen=True, slots=True)
class Variant:
    """One row: how the network is fed and run."""

    crop_px: int = 384
    batch: int = 8
    channels_last: bool = True
    compiled: bool = False
    threads: int = 1
    context: bool = True
    half: bool = False  # bf16-mixed


VARIANTS = (
    Variant(),
    Variant(channels_last=False),
    Variant(context=False),
    Variant(batch=4),
    Variant(batch=16),
    Variant(crop_px=256),
    Variant(crop_px=320),
    Variant(crop_px=512, batch=4),
    Variant(half=True),
    Variant(threads=2),
    Variant(threads=2, half=True),
)


@app.command()
def network(config: Config = "swift", steps: Steps = 4, compiled: bool = False) -> None:
    """Time forward, backward and step on random pixels."""
    spec = load_config(config)
    table = Table(
        "crop", "batch", "memory", "context", "compiled", "precision", "threads", "CPU ms/crop", "CPU ms/Mpx", "crops/s"
    )
    variants = (*VARIANTS, Variant(compiled=True)) if compiled else VARIANTS
    for variant in variants:
        cpu_ms, per_s = _time_network(spec, variant, steps)
        table.add_row(
            str(variant.crop_px),
            str(variant.batch),
            "channels last" if variant.channels_last else "contiguous",
            "yes" if variant.context else "no",
            "yes" if variant.compiled else "no",
            "bf16" if variant.half else "fp32",
            str(variant.threads),
            f"{cpu_ms:.0f}",
            f"{cpu_ms / (variant.crop_px**2 / 1e6):.0f}",
            f"{per_s:.1f}",
        )
    console.print(table)


@app.command()
def loader(config: Config = "hockeyai", count: int = 200) -> None:
    """Time samples in one process, from files and from the cache of decoded frames."""
    use_one_thread()
    table = Table("frames", "CPU ms/sample")
    for name, overrides in (("files", ["data.cache=null"]), ("cache", [])):
        spec = load_config(config, overrides)
        sources = open_sources(spec)
        samples, draws = TrainingSamples(sources.training, spec), sources.mixture(spec).epoch(0)[:count]
        for draw in draws:
            samples[draw]  # the first reading fills caches
        start_s = time.process_time()
        for draw in draws:
            samples[draw]
        table.add_row(name, f"{1e3 * (time.process_time() - start_s) / len(draws):.1f}")
    console.print(table)


@app.command()
def together(config: Config = "hockeyai", steps: Steps = 12) -> None:
    """Time the loader and the network at once, for several ways to share the cores."""
    table = Table("loader processes", "network threads", "crops/s")
    for workers in (0, 1, 2):
        for threads in (1, 2):
            spec = load_config(config, [f"data.workers={workers}", f"train.threads={threads}"])
            table.add_row(str(workers), str(threads), f"{_time_together(spec, steps):.1f}")
    console.print(table)


def _time_network(spec: Spec, variant: Variant, steps: int) -> tuple[float, float]:
    torch.set_num_threads(variant.threads)
    network_spec = spec.network if variant.context else spec.network.model_copy(update={"context": None})
    spec = spec.model_copy(update={"network": network_spec})
    step = _stepper(spec, variant)
    order = torch.channels_last if variant.channels_last else torch.contiguous_format
    frames = torch.randn(variant.batch, 3, variant.crop_px, variant.crop_px).to(memory_format=order)
    half = variant.crop_px // 2
    contexts = torch.randn(variant.batch, 3, half, half).to(memory_format=order)
    points = torch.rand(variant.batch, 2) * variant.crop_px
    for _ in range(2):
        step(frames, contexts, points)
    cpu, wall = [], []
    for _ in range(steps):
        cpu_s, wall_s = time.process_time(), time.perf_counter()
        step(frames, contexts, points)
        cpu.append(time.process_time() - cpu_s)
        wall.append(time.perf_counter() - wall_s)
    return 1e3 * min(cpu) / variant.batch, variant.batch / statistics.median(wall)


def _stepper(spec: Spec, variant: Variant):  # type: ignore[no-untyped-def]
    net = build_plucc(spec.network, pretrained=False)
    if variant.channels_last:
        net.to(memory_format=torch.channels_last)
    if variant.compiled:
        net.compile()
    if variant.half:
        keep_depthwise_full(net)
    optimizer = torch.optim.AdamW(net.parameters(), fused=True)
    objective = Objective(spec.heatmap.sigma_px, spec.network.logit_stride, background_weight=0.1)

    def step(frames: Tensor, contexts: Tensor, points_px: Tensor) -> None:
        with torch.autocast("cpu", torch.bfloat16, enabled=variant.half):
            output = net(frames, contexts)
        logits, presence = output if isinstance(output, tuple) else (output, None)
        objective(logits, presence, points_px, torch.ones(len(frames))).total.backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def _time_together(spec: Spec, steps: int) -> float:
    use_one_thread()
    torch.set_num_threads(spec.train.threads or 1)
    sources = open_sources(spec)
    batches = ResumableLoader(
        TrainingSamples(sources.training, spec),
        batch_sampler=MixtureBatches(sources.mixture(spec), spec.train.batch),
        num_workers=spec.data.workers,
        collate_fn=collate,
        worker_init_fn=use_one_thread,
    )
    step, stream = _stepper(spec, Variant()), _endless(batches)
    for _ in range(3):
        _feed(step, next(stream), spec)
    start_s = time.perf_counter()
    for _ in range(steps):
        _feed(step, next(stream), spec)
    return steps * spec.train.batch / (time.perf_counter() - start_s)


def _endless(batches: ResumableLoader) -> Iterator:  # type: ignore[type-arg]
    while True:
        yield from batches


def _feed(step, batch, spec: Spec) -> None:  # type: ignore[no-untyped-def]
    points = batch.points_px.nan_to_num(0.0)
    step(normalised(batch.frames, spec.network), normalised(batch.contexts, spec.network), points)


if __name__ == "__main__":
    app()
