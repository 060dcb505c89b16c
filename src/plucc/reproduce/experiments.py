"""The rows of the paper's tables as experiments: what each trains, at each scale."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from plucc.config import DatasetSpec, PyramidEncoderSpec, Spec, load_preset
from plucc.reproduce import published
from plucc.reproduce.published import Published
from plucc.types import REFERENCE_HEIGHT_PX, InputError, Size

ScaleName: TypeAlias = Literal["smoke", "tiny", "small", "paper"]
SIGMAS_PX = (5.0, 10.0, 15.0, 25.0)  # of the figure, at 720 lines; the paper's text names 5 and 15


@dataclass(frozen=True, slots=True)
class Rendering:
    """The frames that a scale renders where no dataset is given; a third of the matches are the test."""

    count: int
    size: Size
    frames_per_match: int
    seed: int = 2025


@dataclass(frozen=True, slots=True)
class Scale:
    """How large everything is. `claim` is what a report says of results at this scale."""

    name: ScaleName
    preset: str
    claim: str
    rendering: Rendering | None
    detectors: dict[str, list[str]]  # what differs from the preset, for each detector
    device: str = "cpu"


@dataclass(frozen=True, slots=True)
class Experiment:
    """One row: how it is called, what the paper printed for it, and the spec that it is trained by."""

    key: str
    label: str
    paper: Published
    spec: Callable[[Scale], Spec]


def _compact_detectors(encoder: Sequence[tuple[int, int]], width: int, anchor_px: float, yolo: str) -> dict[str, Any]:
    stages = [{"width": wide, "depth": deep} for wide, deep in encoder]
    rcnn = {
        "kind": "faster-rcnn",
        "encoder": {"kind": "pyramid", "stem": {"width": 16}, "stages": stages},
        "width": width,
        "head_width": 2 * width,
        "anchor_px": anchor_px,
        "proposals": 200,
    }
    fine = {
        "kind": "d-fine",
        "stages": [2 * wide for wide, _ in encoder],
        "width": 64,
        "decoder_layers": 2,
        "queries": 50,
    }
    return {
        "faster-rcnn": [f"detector={json.dumps(rcnn)}", "train.lr=0.001"],
        "d-fine": [f"detector={json.dumps(fine)}", "train.lr=0.0005", "train.clip_norm=1.0"],
        "yolov5": [f"detector={json.dumps({'kind': 'yolov5', 'scale': yolo})}", "train.lr=0.001"],
    }


SCALES: dict[ScaleName, Scale] = {
    "smoke": Scale(
        "smoke",
        "reproduce-smoke",
        "Two training steps a row: this shows that every row runs. Its numbers mean nothing.",
        Rendering(12, Size(320, 180), 3),
        _compact_detectors([(8, 1), (8, 1), (16, 1), (16, 1)], 16, 2.0, "n"),
    ),
    "tiny": Scale(
        "tiny",
        "reproduce-tiny",
        "A few minutes of training a row, on a few hundred small rendered frames, with compact encoders started at "
        "random. It exercises every row and every table; the networks are far from trained, and their order here says "
        "little about the paper's claim.",
        Rendering(400, Size(640, 360), 10),
        _compact_detectors([(24, 1), (32, 1), (64, 1), (96, 1)], 32, 4.0, "n"),
    ),
    "small": Scale(
        "small",
        "reproduce-small",
        "One night on two cores: compact encoders started at random, the same number of crops for every row, rendered "
        "frames. It compares methods of similar cost on rendered data; it does not repeat the paper's experiment.",
        Rendering(1500, Size(1280, 720), 15),
        _compact_detectors([(32, 1), (48, 2), (96, 3), (160, 2)], 48, 6.0, "n"),
    ),
    "paper": Scale(
        "paper",
        "paper",
        "The published set-up, on your data: ResNet-152 encoders, whole frames of 720x1280, 25 epochs.",
        None,
        {"faster-rcnn": ["preset=faster-rcnn"], "d-fine": ["preset=d-fine"], "yolov5": ["preset=yolov5"]},
        device="cuda",
    ),
}


def scale_of(name: str) -> Scale:
    """Return a scale by its name."""
    if name not in SCALES:
        raise InputError(f"{name} is no scale: choose one of {', '.join(SCALES)}")
    return SCALES[name]


def experiments() -> tuple[Experiment, ...]:
    """Return all rows, the most important first, so that a run that is stopped has those."""
    sweep = [sigma for sigma in SIGMAS_PX if sigma not in (5.0, 15.0)]
    return (
        Experiment("plucc", "PLUCC (σ = 5)", published.PLUCC, _with()),
        Experiment("fcn", "FCN (σ = 5)", published.FCN, _with(*_FRAME_ALONE)),
        Experiment("faster-rcnn", "Faster R-CNN", published.FASTER_RCNN, _detector("faster-rcnn")),
        Experiment("context-only", "FCN, context image only", published.CONTEXT_ONLY, _context_only),
        Experiment("no-dropout", "PLUCC (p_drop = 0 %)", published.NO_DROPOUT, _with("augment.frame_dropout=0.0")),
        Experiment("sigma-15", "PLUCC (σ = 15)", published.PLUCC_SIGMA_15, _sigma(15.0)),
        Experiment("d-fine", "D-FINE (not in the paper)", Published(), _detector("d-fine")),
        Experiment("yolov5", "YOLOv5", published.YOLOV5, _detector("yolov5")),
        *(Experiment(f"sigma-{sigma:g}", f"PLUCC (σ = {sigma:g})", Published(), _sigma(sigma)) for sigma in sweep),
    )


def on_data(spec: Spec, data: Path, seed: int) -> Spec:
    """Return an experiment's spec for a dataset and a seed."""
    held = spec.data.model_copy(update={"datasets": (DatasetSpec(path=data),)})
    return spec.model_copy(update={"data": held, "train": spec.train.model_copy(update={"seed": seed})})


_FRAME_ALONE = ("network.context=null", "network.gate=none", "augment.frame_dropout=0.0")


def _with(*overrides: str) -> Callable[[Scale], Spec]:
    return lambda scale: load_preset(scale.preset, overrides)


def _sigma(sigma_px: float) -> Callable[[Scale], Spec]:
    def make(scale: Scale) -> Spec:
        lines = load_preset(scale.preset).heatmap.height
        return load_preset(scale.preset, [f"heatmap.sigma_px={sigma_px * lines / REFERENCE_HEIGHT_PX}"])

    return make


def _context_only(scale: Scale) -> Spec:
    """Return the FCN with the frame's own encoder, fed the context image."""
    if scale.preset == "paper":
        return load_preset("context-only")
    encoder = load_preset(scale.preset).network.frame
    if not isinstance(encoder, PyramidEncoderSpec):
        raise InputError(f"the preset {scale.preset} has no pyramid encoder to feed the context image to")
    overrides = ["network.frame=null", f"network.context={encoder.model_dump_json()}", "network.gate=none"]
    return load_preset(scale.preset, [*overrides, "augment.frame_dropout=0.0"])


def _detector(kind: str) -> Callable[[Scale], Spec]:
    def make(scale: Scale) -> Spec:
        told = scale.detectors[kind]
        if told[0].startswith("preset="):
            return load_preset(told[0].removeprefix("preset="))
        return load_preset(scale.preset, [*_FRAME_ALONE, "train.background_weight=0.0", *told])

    return make
