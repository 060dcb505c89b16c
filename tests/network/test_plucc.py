"""One contract for every network that a spec can name."""

from math import ceil

import pytest
import torch
from torch import Tensor, nn

from plucc.config import NetworkSpec, PyramidEncoderSpec, StageSpec, StemSpec, load_preset, preset_names
from plucc.network.baselines import ContextOnly, FrameOnly
from plucc.network.plucc import Plucc, PuckNetwork, build_plucc
from plucc.types import ConfigError, ShapeError

SIZES = [(720, 1280), (722, 1282), (361, 643)]


def pictures(batch: int, height: int, width: int, device: str = "cpu") -> tuple[Tensor, Tensor]:
    """Return a frame and its context of normal noise; a side of the context is rounded up."""
    frame = torch.randn(batch, 3, height, width, device=device)
    return frame, torch.randn(batch, 3, ceil(height / 2), ceil(width / 2), device=device)


def outputs(network: PuckNetwork, frame: Tensor, context: Tensor | None) -> tuple[Tensor, ...]:
    output = network(frame, context)
    return output if isinstance(output, tuple) else (output,)


def parameters(network: nn.Module) -> int:
    return sum(parameter.numel() for parameter in network.parameters())


@pytest.fixture(scope="module")
def paper() -> PuckNetwork:
    return build_plucc(load_preset("paper").network).to("meta")  # shapes need no numbers


def test_paper_has_the_papers_size(paper: PuckNetwork) -> None:
    assert parameters(paper) == 114_794_560
    assert parameters(paper) == pytest.approx(114e6, rel=0.01)


@pytest.mark.parametrize("preset", ["fcn-resnet152", "context-only"])
def test_baselines_have_the_papers_size(preset: str) -> None:
    assert parameters(build_plucc(load_preset(preset).network)) == pytest.approx(99e6, rel=0.01)


def test_paper_features_are_those_of_the_table(paper: PuckNetwork) -> None:
    assert isinstance(paper, Plucc)
    frame, context = pictures(1, 720, 1280, "meta")
    features, cues = paper.frame_encoder(frame), paper.context_encoder(context)
    fused = paper.decoder(features, cues)
    assert [tuple(feature.shape[1:]) for feature in features] == [
        (64, 360, 640),
        (256, 180, 320),
        (512, 90, 160),
        (1024, 45, 80),
        (1024, 23, 40),
    ]
    assert [tuple(cue.shape[1:]) for cue in cues] == [(64, 360, 640), (256, 90, 160), (512, 45, 80), (1024, 23, 40)]
    assert [tuple(feature.shape[1:]) for feature in fused] == [
        (1024, 23, 40),
        (512, 45, 80),
        (256, 90, 160),
        (128, 180, 320),
        (64, 360, 640),
    ]


def test_paper_gates_where_context_joins(paper: PuckNetwork) -> None:
    gates = [name for name, _ in paper.named_parameters() if name.endswith("gamma")]
    assert gates == [f"decoder.stages.{level}.gate.gamma" for level in (0, 1, 2)]


@pytest.mark.parametrize("size", SIZES)
def test_paper_gives_a_logit_for_each_pixel(paper: PuckNetwork, size: tuple[int, int]) -> None:
    (logits,) = outputs(paper, *pictures(1, *size, "meta"))
    assert logits.shape == (1, 1, *size)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("preset", sorted({*preset_names()} - {"paper", "sigma-15", "no-dropout"}))
def test_presets_keep_their_shapes(preset: str, size: tuple[int, int]) -> None:
    spec = load_preset(preset, _small_backbone(preset)).network
    logits, *presence = outputs(build_plucc(spec).to("meta"), *pictures(2, *size, "meta"))
    assert logits.shape == (2, 1, *(ceil(side / spec.logit_stride) for side in size))
    assert [tuple(value.shape) for value in presence] == [(2,)] * spec.presence


def _small_backbone(preset: str) -> list[str]:
    """Swap ResNet-152 for ResNet-18, so that the test need not draw 58 million weights again."""
    where = {"fcn-resnet152": "frame", "context-only": "context"}.get(preset)
    return [f"network.{where}.name=resnet18"] if where else []


@pytest.mark.parametrize("size", [(64, 64), (90, 131)])
def test_small_networks_keep_their_shapes(small_spec: NetworkSpec, size: tuple[int, int]) -> None:
    network = build_plucc(small_spec).eval()
    logits, *presence = outputs(network, *pictures(2, *size))
    assert logits.shape == (2, 1, *(ceil(side / small_spec.logit_stride) for side in size))
    assert logits.isfinite().all()
    assert [tuple(value.shape) for value in presence] == [(2,)] * small_spec.presence


def test_gradients_reach_every_parameter(small_spec: NetworkSpec) -> None:
    network = build_plucc(small_spec).train()
    loss = sum((output * torch.randn_like(output)).sum() for output in outputs(network, *pictures(4, 96, 128)))
    loss.backward()
    silent = [name for name, value in network.named_parameters() if value.grad is None or not value.grad.any()]
    assert silent == []


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["paper", "fcn-resnet152", "context-only"])
def test_gradients_reach_every_parameter_at_full_depth(preset: str) -> None:
    network = build_plucc(load_preset(preset).network).train()
    loss = sum((output * torch.randn_like(output)).sum() for output in outputs(network, *pictures(2, 96, 128)))
    loss.backward()
    silent = [name for name, value in network.named_parameters() if value.grad is None or not value.grad.any()]
    assert silent == []


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
def test_paper_runs_at_full_size(size: tuple[int, int]) -> None:
    network = build_plucc(load_preset("paper").network).eval()
    with torch.inference_mode():
        (logits,) = outputs(network, *pictures(1, *size))
    assert logits.shape == (1, 1, *size)
    assert logits.isfinite().all()


def test_state_dict_round_trips(small_spec: NetworkSpec) -> None:
    first, second = build_plucc(small_spec).eval(), build_plucc(small_spec).eval()
    second.load_state_dict(first.state_dict())
    for one, other in zip(outputs(first, *(batch := pictures(1, 70, 90))), outputs(second, *batch), strict=True):
        assert torch.equal(one, other)


def test_the_spec_decides_which_network() -> None:
    swift = load_preset("swift").network
    assert isinstance(build_plucc(swift), Plucc)
    assert isinstance(build_plucc(swift.model_copy(update={"context": None})), FrameOnly)
    assert isinstance(build_plucc(swift.model_copy(update={"frame": None, "fold_finer": False})), ContextOnly)


def test_frame_only_ignores_the_context(plain_spec: NetworkSpec) -> None:
    network = build_plucc(plain_spec.model_copy(update={"context": None})).eval()
    frame, context = pictures(1, 80, 96)
    assert torch.equal(*(outputs(network, frame, given)[0] for given in (context, None)))


def test_context_only_never_sees_the_frame(plain_spec: NetworkSpec) -> None:
    network = build_plucc(plain_spec.model_copy(update={"frame": None, "context": plain_spec.frame})).eval()
    frame, context = pictures(1, 80, 96)
    assert torch.equal(*(outputs(network, given, context)[0] for given in (frame, torch.zeros_like(frame))))


def test_plucc_hears_both_inputs(plain_spec: NetworkSpec) -> None:
    network = build_plucc(plain_spec).eval()
    frame, context = pictures(1, 80, 96)
    logits = outputs(network, frame, context)[0]
    assert not torch.allclose(logits, outputs(network, frame, torch.zeros_like(context))[0])
    assert not torch.allclose(logits, outputs(network, torch.zeros_like(frame), context)[0])


def test_half_an_odd_side_may_be_cut(plain_spec: NetworkSpec) -> None:
    network = build_plucc(plain_spec).eval()
    (logits,) = outputs(network, torch.randn(1, 3, 91, 131), torch.randn(1, 3, 45, 65))
    assert logits.shape == (1, 1, 91, 131)


def test_coarser_logits_are_those_before_the_upsampling(plain_spec: NetworkSpec) -> None:
    fine, coarse = (build_plucc(plain_spec.model_copy(update={"logit_stride": stride})).eval() for stride in (1, 2))
    coarse.load_state_dict(fine.state_dict())
    batch = pictures(1, 80, 96)
    upsampled = nn.functional.interpolate(outputs(coarse, *batch)[0], scale_factor=2, mode="bilinear")
    torch.testing.assert_close(outputs(fine, *batch)[0], upsampled)


def test_the_1x1_commutes_with_the_upsampling(plain_spec: NetworkSpec) -> None:
    """The paper upsamples 64 channels and then projects; we project first."""
    network = build_plucc(plain_spec).eval()
    assert isinstance(network, Plucc)
    frame, context = pictures(1, 80, 96)
    last = network.decoder(network.frame_encoder(frame), network.context_encoder(context))[-1]
    upsampled = nn.functional.interpolate(last, size=(80, 96), mode="bilinear", align_corners=False)
    torch.testing.assert_close(
        outputs(network, frame, context)[0], network.head.logits.project(upsampled), rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize(
    ("frame", "context", "words"),
    [
        ((1, 4, 90, 90), (1, 3, 45, 45), "frame has shape (1, 4, 90, 90): expected RGB as (batch, 3, height, width)"),
        ((3, 90, 90), (1, 3, 45, 45), "frame has shape (3, 90, 90)"),
        (
            (1, 3, 63, 90),
            (1, 3, 32, 45),
            "frame is 63x90; both sides must be at least 64 px: scale it up, or crop less",
        ),
        ((1, 3, 90, 90), (1, 1, 45, 45), "context has shape (1, 1, 45, 45)"),
        ((1, 3, 90, 90), (1, 3, 90, 90), "at half its height and width"),
        ((2, 3, 90, 90), (1, 3, 45, 45), "give one for each frame"),
    ],
)
def test_wrong_pictures_are_refused(
    plain_spec: NetworkSpec, frame: tuple[int, ...], context: tuple[int, ...], words: str
) -> None:
    with pytest.raises(ShapeError) as caught:
        build_plucc(plain_spec)(torch.zeros(frame), torch.zeros(context))
    assert words in str(caught.value)


def test_missing_context_is_refused(plain_spec: NetworkSpec) -> None:
    with pytest.raises(ShapeError, match="reads a context image and got none"):
        build_plucc(plain_spec)(torch.zeros(1, 3, 90, 90))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"decoder_widths": (8,) * 6}, "decoder_widths has 6 entries for 5 features"),
        ({"fused_strides": (2, 8)}, r"fused_strides has 2, but context features lie at \[4, 8, 16, 32\]"),
        ({"decoder_widths": (8, 8), "fused_strides": (8, 16)}, r"frame features at \[16, 32\]"),
        ({"fold_finer": True}, "fold_finer needs a frame feature finer than those decoded"),
        (
            {"detail": PyramidEncoderSpec(stem=StemSpec(width=8), stages=(StageSpec(width=8, depth=1, stride=3),))},
            r"detail ends at stride 6, the decoder has \[2, 4, 8, 16, 32\]: end at one",
        ),
        ({"logit_stride": 3}, "logit_stride 3 does not divide the decoder's last stride 2"),
    ],
)
def test_specs_that_do_not_fit_together_are_refused(plain_spec: NetworkSpec, change: dict, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        build_plucc(plain_spec.model_copy(update=change))
