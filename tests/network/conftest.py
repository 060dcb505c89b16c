"""Networks small enough to run many times, of every kind that the specs can name."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from plucc.config import NetworkSpec

STAGES = [{"width": 8, "depth": 1}, {"width": 12, "depth": 1}, {"width": 16, "depth": 1}, {"width": 24, "depth": 1}]
FRAME = {"kind": "pyramid", "stem": {"width": 8}, "stages": STAGES}
CONTEXT = {"kind": "pyramid", "stem": {"width": 8}, "stages": STAGES[1:]}
DETAIL = {"kind": "pyramid", "stem": {"kind": "space-to-depth", "width": 8, "stride": 2}, "stages": STAGES[:2]}
PLAIN: dict[str, Any] = {"frame": FRAME, "context": CONTEXT, "decoder_widths": (16, 12, 8, 8, 8)}

KINDS: dict[str, dict[str, Any]] = {
    "plain": PLAIN,
    "presence": PLAIN | {"presence": True},
    "shuffled": PLAIN | {"decoder_widths": (16, 12, 8, 8), "logit_stride": 2, "logit_upsampling": "shuffle"},
    "folded finer feature": PLAIN | {"decoder_widths": (16, 12, 8, 8), "fold_finer": True, "decoder_block": "reduced"},
    "detailed": PLAIN | {"detail": DETAIL, "decoder_widths": (16, 12, 8, 8), "fold_finer": True},
    "detailed frame only": PLAIN | {"context": None, "detail": DETAIL, "decoder_widths": (16, 12, 8, 8)},
    "reduced": PLAIN | {"decoder_block": "reduced", "logit_stride": 2},
    "separable": PLAIN | {"decoder_block": "separable"},
    "squeeze": PLAIN | {"gate": "squeeze-excitation"},
    "attention": PLAIN | {"gate": "channel-attention"},
    "ungated": PLAIN | {"gate": "none"},
    "folded stem": PLAIN
    | {
        "frame": {
            "kind": "pyramid",
            "stem": {"kind": "space-to-depth", "width": 8, "stride": 4},
            "stages": [STAGES[0] | {"stride": 1, "block": "convnext"}, *STAGES[1:3], STAGES[3] | {"block": "inverted"}],
        },
        "decoder_widths": (16, 12, 8, 8),
    },
    "timm": PLAIN | {"frame": {"kind": "timm", "name": "resnet18", "neck": 16}},
    "frame only": PLAIN | {"context": None, "presence": True},
    "context only": PLAIN | {"frame": None, "context": FRAME, "presence": True},
}


@pytest.fixture(params=KINDS)
def small_spec(request: pytest.FixtureRequest) -> NetworkSpec:
    return NetworkSpec.model_validate(KINDS[request.param])


@pytest.fixture
def plain_spec() -> NetworkSpec:
    return NetworkSpec.model_validate(PLAIN)


@pytest.fixture(autouse=True)
def _seeded() -> Iterator[None]:
    """Fix chance, and keep to one thread: for pictures this small a second one only waits."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    yield
    torch.set_num_threads(threads)
