"""Specs: what a network is, what it learns from, and how; frozen, strict, read from YAML.

A spec is one YAML mapping. It may start from a shipped preset (`preset: swift`) and name only what differs, and single
values can be overridden from outside (`train.lr=3e-4`). A key that does not exist is refused, the nearest one named.
"""

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    ValidationError,
    model_validator,
)

from plucc.faults import explain
from plucc.types import ConfigError

Probability: TypeAlias = Annotated[float, Field(ge=0.0, le=1.0)]
Triple: TypeAlias = tuple[float, float, float]
Range: TypeAlias = tuple[float, float]

IMAGENET_MEAN: Triple = (0.485, 0.456, 0.406)
IMAGENET_STD: Triple = (0.229, 0.224, 0.225)
CONTEXT_STRIDE = 2  # the context image is half the frame, odd sides rounded up


class Section(BaseModel):
    """A part of a spec: frozen, and strict about its keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


SectionT = TypeVar("SectionT", bound=Section)


class TimmEncoderSpec(Section):
    """A timm backbone; `neck` adds a 3×3 convolution block on its deepest feature, which it then replaces."""

    kind: Literal["timm"] = "timm"
    name: str
    features: PositiveInt | None = None  # only so many, from the finest on: what comes after is cut off
    neck: PositiveInt | None = None
    pretrained: bool = False  # by name from timm's hub
    weights_file: Path | None = None  # or from a local file: .pth, .pt or .safetensors


class StemSpec(Section):
    """The first layer: a strided convolution, or pixels folded into channels and then a convolution."""

    kind: Literal["conv", "space-to-depth"] = "conv"
    width: PositiveInt
    kernel: PositiveInt = 3
    stride: PositiveInt = 2
    pool: bool = False  # 3×3 max-pool of stride 2 after the published stem feature


class StageSpec(Section):
    """A run of blocks at one resolution; the first one strides."""

    width: PositiveInt
    depth: PositiveInt
    stride: PositiveInt = 2
    block: Literal["basic", "bottleneck", "inverted", "convnext"] = "basic"


class PyramidEncoderSpec(Section):
    """An encoder written here: a stem and stages, each of which publishes its feature."""

    kind: Literal["pyramid"] = "pyramid"
    stem: StemSpec
    stages: tuple[StageSpec, ...] = Field(min_length=1)


EncoderSpec: TypeAlias = Annotated[TimmEncoderSpec | PyramidEncoderSpec, Field(discriminator="kind")]


class NetworkSpec(Section):
    """One network. Without `context` it is a plain FCN on the frame, without `frame` the same FCN on the context image.

    `logit_stride` is the pitch of the logits in frame pixels: 1 is a logit for each pixel. Logits finer than the last
    decoder feature are upsampled bilinearly, or (`shuffle`) each feature cell carries the logits of its sub-cells.
    """

    frame: EncoderSpec | None
    context: EncoderSpec | None = None
    detail: PyramidEncoderSpec | None = None  # of the frame again: joins decoded features of its strides
    fused_strides: tuple[PositiveInt, ...] = (8, 16, 32)  # of the frame; where context features join
    decoder_widths: tuple[PositiveInt, ...] = Field(min_length=1)  # deepest first
    decoder_block: Literal["conv", "reduced", "separable"] = "conv"
    fold_finer: bool = False  # the next finer frame feature joins the last decoded one, folded into channels
    gate: Literal["static", "squeeze-excitation", "channel-attention", "none"] = "static"
    logit_stride: PositiveInt = 1
    logit_upsampling: Literal["bilinear", "shuffle"] = "bilinear"
    presence: bool = False
    mean: Triple = IMAGENET_MEAN  # of RGB in 0..1, frame and context alike
    std: Triple = IMAGENET_STD

    @model_validator(mode="after")
    def _has_an_input(self) -> "NetworkSpec":
        if self.frame is None and self.context is None:
            raise ValueError("frame and context are both null: give at least one encoder")
        if self.frame is None and self.detail is not None:
            raise ValueError("detail is of the frame, which is null: leave detail out too")
        return self


class FasterRcnnSpec(Section):
    """torchvision's Faster R-CNN: ResNet-50 FPN v2, or a pyramid on an encoder of this package where one is given.

    Anchors start at `anchor_px` on the finest level and double with each coarser one.
    """

    kind: Literal["faster-rcnn"]
    encoder: EncoderSpec | None = None
    width: PositiveInt = 256  # of the pyramid's features
    head_width: PositiveInt = 1024
    anchor_px: PositiveFloat = 6.0
    proposals: PositiveInt = 2000  # kept of a training frame; half as many in use
    weights_file: Path | None = None  # torchvision's, or a backbone's; layers that fit are taken


class DFineSpec(Section):
    """D-FINE of the transformers library; `stages` are the widths of its HGNetV2 backbone, which starts at random.

    `weights` is a folder on this machine, or a name on the model hub: then its sizes count and those here do not.
    """

    kind: Literal["d-fine"]
    stages: tuple[PositiveInt, PositiveInt, PositiveInt, PositiveInt] = (64, 256, 512, 1024)
    width: PositiveInt = 256
    decoder_layers: Annotated[int, Field(ge=2)] = 3  # the library ties weights between layers, so one is not enough
    queries: PositiveInt = 300
    weights: str | None = None


class YoloSpec(Section):
    """YOLOv5 through ultralytics, which is AGPL-3.0 and no dependency of this package: the user installs it."""

    kind: Literal["yolov5"]
    scale: Literal["n", "s", "m", "l", "x"] = "l"
    weights_file: Path | None = None  # a .pt of ultralytics; layers that fit are taken


DetectorSpec: TypeAlias = Annotated[FasterRcnnSpec | DFineSpec | YoloSpec, Field(discriminator="kind")]


class SecondLookSpec(Section):
    """The network that looks again at a few places: one timm backbone on square windows of several sizes around each.

    Windows are in pixels of 720 lines; every one is brought to a patch of `side_px`.
    """

    backbone: str = "mobilenetv3_small_100"  # of the families of MobileNetV3 and EfficientNet
    windows_px: tuple[PositiveFloat, ...] = Field((64.0, 192.0), min_length=1)
    side_px: Annotated[int, Field(ge=64)] = 96  # below, the deepest feature has no middle
    hidden: PositiveInt = 192
    mean: Triple = IMAGENET_MEAN
    std: Triple = IMAGENET_STD


class HeatmapSpec(Section):
    """The target: a normalised Gaussian of `sigma_px`, in pixels of a frame of the given height and width."""

    height: PositiveInt = 720
    width: PositiveInt = 1280
    sigma_px: PositiveFloat = 5.0


class DatasetSpec(Section):
    """One dataset folder; a bare path in the file is short for `path:`."""

    path: Path
    weight: PositiveFloat = 1.0  # share of the training samples, against the other datasets' weights
    masks: Path | None = None  # JSONL of {image, mask}: players found elsewhere, instead of the records' own
    hard_negatives: Path | None = None  # JSONL of {image, x, y}: places to crop around because something else won there
    validate_on: bool = True  # whether its validation matches are scored

    @model_validator(mode="before")
    @classmethod
    def _from_path(cls, value: Any) -> Any:
        return {"path": value} if isinstance(value, str | Path) else value


class DataSpec(Section):
    """Where the samples come from; splits are by match, from here or else from the dataset's own `splits.yaml`."""

    datasets: tuple[DatasetSpec, ...] = ()
    validation_matches: tuple[str, ...] = ()
    test_matches: tuple[str, ...] = ()
    balance_runs: bool = False  # near-duplicates of one run share their weight: each counts 1/sqrt(run length)
    crop_px: PositiveInt | None = None  # square training crops; None trains on whole frames
    cache: Path | None = None  # folder for decoded frames; None decodes anew each time
    workers: NonNegativeInt = 2


class AugmentSpec(Section):
    """What happens to a training sample; frame, context, point and homography move together."""

    flip: Probability = 0.5
    scale: Range = (1.0, 1.0)  # of lengths, drawn evenly in the logarithm; crops only
    squeeze: Range = (1.0, 1.0)  # of widths alone, as in pictures of another aspect; crops only
    rotation_deg: NonNegativeFloat = 0.0  # at most, either way; crops only
    anywhere: Probability = 0.0  # crops placed without regard to the puck
    hard_negative: Probability = 0.0  # crops around a listed mistake, where the frame has one
    paint_out: Probability = 0.0  # the puck is painted over, and the frame has none
    hide: Probability = 0.0  # the puck is painted over but still where it was: the players tell
    paint_decoy: Probability = 0.0  # the same paint where no puck is, so that paint is no clue
    transplant: Probability = 0.0  # the puck moves to another spot of ice, often streaked
    colour: Probability = 0.0  # exposure, contrast, gamma, balance, saturation
    hue: Probability = 0.0  # other teams, other advertisements: all hues turn, one time in four colour goes
    sharpen: Probability = 0.0  # edges with halos, as some broadcasters send them
    blur: Probability = 0.2
    blur_sigma_px: Range = (0.3, 1.5)
    streak: Probability = 0.0  # blur along a line
    interlace: Probability = 0.0  # one field of two, or both combed by a moving camera
    rescale: Probability = 0.0  # down and up again, as upscaled feeds are
    noise: Probability = 0.2
    noise_std: NonNegativeFloat = 0.03  # of RGB in 0..1
    recompress: Probability = 0.0  # JPEG of quality 20 to 75
    overlay: Probability = 0.0  # broadcast graphics, never over the puck
    mask_fault: Probability = 0.0  # players missed, cut or bloated in the context image
    frame_dropout: Probability = 0.01  # the frame is zeroed after normalisation, its context stays


class TrainSpec(Section):
    """Optimisation. The run ends after `epochs`; where `steps` or `hours` are given, they decide instead."""

    seed: NonNegativeInt = 0
    batch: PositiveInt = 10
    epochs: PositiveInt = 25
    epoch_samples: PositiveInt | None = None  # None is as many as there are training frames
    steps: PositiveInt | None = None
    hours: PositiveFloat | None = None  # of this machine's clock, over all resumed parts
    optimizer: Literal["adam", "adamw"] = "adam"
    lr: PositiveFloat = 1e-3
    pretrained_lr: Probability = 1.0  # share of the rate that a timm backbone learns at
    weight_decay: NonNegativeFloat = 0.0
    schedule: Literal["plateau", "cosine", "constant"] = "plateau"
    warmup: Probability = 0.0  # share of the run in which the rate rises from nothing
    lr_factor: Probability = 0.1
    patience_epochs: PositiveInt = 5
    presence_weight: NonNegativeFloat = 1.0
    background_weight: NonNegativeFloat = 0.0  # a "nowhere" class beside the pixels, so that crops compare
    initial_weights: Path | tuple[Path, ...] | None = None  # what to start from, layers that fit; several: their mean
    freeze_batch_norm: bool = False
    accumulate: PositiveInt = 1
    clip_norm: PositiveFloat | None = None
    ema_decay: Probability | None = None
    precision: Literal["32", "16-mixed", "bf16-mixed"] = "32"
    accelerator: Literal["auto", "cpu", "gpu", "mps"] = "auto"
    devices: PositiveInt = 1  # on each host
    hosts: PositiveInt = 1
    threads: PositiveInt | None = None  # of the network on a CPU; None leaves torch's choice
    channels_last: bool = True
    compile: bool = False
    validation_frames: PositiveInt | None = None  # at most, evenly spread; None scores all
    checkpoint_minutes: PositiveFloat = 5.0
    checkpoint_steps: PositiveInt | None = None  # instead of minutes


# what the data path hands to a detector: frames, and no context images; this network itself is never built
FRAMES_ALONE: dict[str, Any] = {
    "frame": {"kind": "pyramid", "stem": {"width": 8}, "stages": [{"width": 8, "depth": 1}]},
    "decoder_widths": [8],
    "gate": "none",
}


class Spec(Section):
    """Everything that defines an experiment.

    A `detector` is trained instead of `network`, on the same samples; `network` may then be left out.
    """

    network: NetworkSpec
    detector: DetectorSpec | None = None
    heatmap: HeatmapSpec = HeatmapSpec()
    data: DataSpec = DataSpec()
    augment: AugmentSpec = AugmentSpec()
    train: TrainSpec = TrainSpec()

    @model_validator(mode="before")
    @classmethod
    def _detector_alone(cls, value: Any) -> Any:
        if isinstance(value, dict) and value.get("detector") is not None and "network" not in value:
            return value | {"network": FRAMES_ALONE}
        return value


def preset_names() -> tuple[str, ...]:
    """Return the names of the shipped presets, sorted."""
    return tuple(sorted(entry.name.removesuffix(".yaml") for entry in _presets() if entry.name.endswith(".yaml")))


def load_preset(name: str, overrides: Iterable[str] = ()) -> Spec:
    """Return a shipped spec, with `section.key=value` overrides applied."""
    return parse_section(Spec, _overridden(_preset_mapping(name), overrides), f"preset {name}")


def load_config(source: Path | str, overrides: Iterable[str] = ()) -> Spec:
    """Return the spec of a YAML file, or of a preset when `source` is the name of one and no such file exists."""
    path = Path(source)
    if not path.exists() and str(source) in preset_names():
        return load_preset(str(source), overrides)
    return parse_section(Spec, _overridden(_based(_read_mapping(path), str(path)), overrides), str(path))


def parse_section(section: type[SectionT], mapping: object, origin: str) -> SectionT:
    """Return one section as stored in a checkpoint or model file; `origin` names the file in the error."""
    try:
        return section.model_validate(mapping)
    except ValidationError as error:
        raise ConfigError(f"{origin}: {explain(error, section)}") from error


def _presets() -> Iterator[Any]:
    return files("plucc").joinpath("presets").iterdir()


def _preset_mapping(name: str) -> dict[str, Any]:
    names = preset_names()
    if name not in names:
        nearest = get_close_matches(name, names, n=1, cutoff=0.4)
        hint = f"did you mean {nearest[0]}?" if nearest else f"choose one of {', '.join(names)}"
        raise ConfigError(f"there is no preset {name}: {hint}")
    text = files("plucc").joinpath("presets", f"{name}.yaml").read_text(encoding="utf-8")
    return _based(_as_mapping(yaml.safe_load(text), f"preset {name}"), f"preset {name}")


def _read_mapping(path: Path) -> dict[str, Any]:
    try:
        return _as_mapping(yaml.safe_load(path.read_text(encoding="utf-8")), str(path))
    except FileNotFoundError as error:
        raise ConfigError(f"{path} does not exist: give a YAML file or one of {', '.join(preset_names())}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read as text: give a YAML file") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{path} is not YAML ({' '.join(str(error).split())}): mend that line") from error


def _as_mapping(value: object, origin: str) -> dict[str, Any]:
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise ConfigError(f"{origin} holds no settings: expected sections such as network: and train:")
    return value


def _based(mapping: dict[str, Any], origin: str) -> dict[str, Any]:
    """Lay a mapping over the preset that it starts from, if it names one."""
    if "preset" not in mapping:
        return mapping
    base = mapping["preset"]
    if not isinstance(base, str):
        raise ConfigError(f"{origin}: preset must be a name, one of {', '.join(preset_names())}")
    return _merged(_preset_mapping(base), {key: value for key, value in mapping.items() if key != "preset"})


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Merge mappings key by key; a mapping of another `kind` replaces the whole of what it lies over."""
    if "kind" in over and over["kind"] != base.get("kind"):
        return dict(over)
    merged = dict(base)
    for key, value in over.items():
        under = merged.get(key)
        if isinstance(under, Mapping) and isinstance(value, Mapping):
            value = _merged(under, value)  # noqa: PLW2901
        merged[key] = value
    return merged


def _overridden(mapping: dict[str, Any], overrides: Iterable[str]) -> dict[str, Any]:
    for override in overrides:
        key, equals, text = override.partition("=")
        parts = key.strip().split(".")
        if not equals or not all(parts):
            raise ConfigError(f"{override!r} is no override: write it as section.key=value, such as train.lr=3e-4")
        try:
            nested: Any = yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise ConfigError(f"{override!r} has a value that is not YAML: quote it, or mend its brackets") from error
        for part in reversed(parts):
            nested = {part: nested}
        mapping = _merged(mapping, nested)
    return mapping
