"""Specs: presets, files, overrides, and what is said of a wrong one."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from plucc.config import NetworkSpec, PyramidEncoderSpec, TimmEncoderSpec, load_config, load_preset, preset_names
from plucc.types import ConfigError

PAPER_PRESETS = ("paper", "fcn-resnet152", "context-only", "sigma-15", "no-dropout")


def test_ships_the_presets_of_the_paper_and_swift() -> None:
    assert {*PAPER_PRESETS, "swift"} <= set(preset_names())


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_is_valid_and_round_trips(name: str) -> None:
    spec = load_preset(name)
    assert type(spec).model_validate_json(spec.model_dump_json()) == spec


def test_paper_preset_holds_the_papers_numbers() -> None:
    spec = load_preset("paper")
    assert (spec.heatmap.height, spec.heatmap.width, spec.heatmap.sigma_px) == (720, 1280, 5.0)
    assert (spec.train.batch, spec.train.epochs, spec.train.lr) == (10, 25, 1e-3)
    assert (spec.train.lr_factor, spec.train.patience_epochs, spec.train.optimizer) == (0.1, 5, "adam")
    assert spec.augment.frame_dropout == 0.01
    assert not spec.network.presence
    assert spec.network.gate == "static"


def test_ablations_differ_from_paper_in_one_thing() -> None:
    paper = load_preset("paper")
    assert load_preset("sigma-15") == paper.model_copy(
        update={"heatmap": paper.heatmap.model_copy(update={"sigma_px": 15.0})}
    )
    assert load_preset("no-dropout") == paper.model_copy(
        update={"augment": paper.augment.model_copy(update={"frame_dropout": 0.0})}
    )


def test_baselines_leave_out_an_encoder() -> None:
    assert load_preset("fcn-resnet152").network.context is None
    assert load_preset("context-only").network.frame is None


def test_specs_are_frozen() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        load_preset("swift").train.lr = 1.0  # type: ignore[misc]


@pytest.mark.parametrize(
    ("override", "read"),
    [
        ("train.lr=3e-4", lambda spec: spec.train.lr == 3e-4),
        ("network.presence=false", lambda spec: spec.network.presence is False),
        ("network.context=null", lambda spec: spec.network.context is None),
        ("network.decoder_widths=[8, 8]", lambda spec: spec.network.decoder_widths == (8, 8)),
        ("network.context.stem.width=24", lambda spec: spec.network.context.stem.width == 24),
    ],
)
def test_overrides_reach_any_depth(override: str, read) -> None:
    assert read(load_preset("swift", [override]))


def test_later_overrides_win() -> None:
    assert load_preset("swift", ["train.seed=1", "train.seed=2"]).train.seed == 2


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("train.lrr=1", "train.lrr is not a setting: did you mean train.lr?"),
        ("trian.lr=1", "trian is not a setting: did you mean train?"),
        ("lr=3e-4", "lr is not a setting: did you mean train.lr?"),
        ("train.sigma_px=3", "train.sigma_px is not a setting: did you mean heatmap.sigma_px?"),
        (
            "network.context.stem.widht=3",
            "network.context.stem.widht is not a setting: did you mean network.context.stem.width?",
        ),
        ("network.context.stages=[{width: 3, dept: 2}]", "did you mean network.context.stages.0.depth?"),
        ("network.context.stage=3", "did you mean network.context.stages?"),
        ("network.qqqq=1", "network.qqqq is not a setting: expected one of network.frame, network.context"),
        (
            "train.lr=fast",
            "train.lr: input should be a valid number, unable to parse string as a number (found 'fast')",
        ),
        ("train.lr=-1", "train.lr: input should be greater than 0"),
        ("network.frame.kind=pyramyd", "'timm', 'pyramid'"),
        ("network.context={kind: timm}", "network.context.name: field required"),
        ("train.lr", "'train.lr' is no override: write it as section.key=value, such as train.lr=3e-4"),
        ("train.lr=[1", "has a value that is not YAML"),
    ],
)
def test_wrong_overrides_are_refused_in_one_sentence(override: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_preset("swift", [override])
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_needs_at_least_one_encoder() -> None:
    with pytest.raises(ConfigError, match="give at least one encoder"):
        load_preset("swift", ["network.frame=null", "network.context=null"])


def test_unknown_preset_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"there is no preset papr: did you mean paper\?"):
        load_preset("papr")


def test_file_starts_from_a_preset_and_names_the_difference(tmp_path: Path) -> None:
    config = tmp_path / "mine.yaml"
    config.write_text("preset: sigma-15\ntrain: {batch: 4}\n")
    spec = load_config(config, ["train.epochs=2"])
    assert (spec.heatmap.sigma_px, spec.train.batch, spec.train.epochs) == (15.0, 4, 2)


def test_another_kind_of_encoder_replaces_the_whole_of_it(tmp_path: Path) -> None:
    config = tmp_path / "mine.yaml"
    config.write_text("preset: swift\nnetwork: {frame: {kind: timm, name: resnet18}}\n")
    frame = load_config(config).network.frame
    assert frame == TimmEncoderSpec(name="resnet18")


def test_a_bare_preset_name_is_a_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert load_config("swift") == load_preset("swift")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"network: [", "is not YAML"),
        (b"just words", "holds no settings"),
        (b"preset: [swift]\n", "preset must be a name"),
        (b"preset: nothing-like-it\n", "there is no preset nothing-like-it"),
        (b"train: {lr: 0.1}\n", "network: field required"),
        (b"\xff\xfe\x00", "cannot be read as text"),
    ],
)
def test_unusable_files_are_refused_in_one_sentence(tmp_path: Path, content: bytes, words: str) -> None:
    config = tmp_path / "bad.yaml"
    config.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        load_config(config)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_file_lists_the_presets(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"does not exist: give a YAML file or one of .*paper"):
        load_config(tmp_path / "none.yaml")


def test_swift_reads_frames_with_a_known_backbone_and_needs_no_download() -> None:
    network: NetworkSpec = load_preset("swift").network
    assert isinstance(network.frame, TimmEncoderSpec)
    assert not network.frame.pretrained
    assert isinstance(network.context, PyramidEncoderSpec)


def test_swift_l_is_swift_with_a_detail_encoder() -> None:
    small, large = load_preset("swift").network, load_preset("swift-l").network
    assert large.detail is not None
    assert large.model_copy(update={"detail": None}) == small


def test_swift_resnet_has_another_backbone_and_nothing_deeper_than_it() -> None:
    small, large = load_preset("swift").network, load_preset("swift-resnet").network
    assert isinstance(large.frame, TimmEncoderSpec)
    assert isinstance(large.context, PyramidEncoderSpec)
    assert isinstance(small.context, PyramidEncoderSpec)
    assert large.frame.features == len(large.decoder_widths) + 1  # the finest is folded into the last
    assert large.context.stages == small.context.stages[:2]
    differ = {"frame", "context", "fused_strides", "decoder_widths"}
    assert large.model_dump(exclude=differ) == small.model_dump(exclude=differ)


def test_detail_of_a_frame_that_is_not_read_is_refused() -> None:
    with pytest.raises(ConfigError, match="detail is of the frame, which is null"):
        load_preset("swift-l", ["network.frame=null", "network.fold_finer=false"])
