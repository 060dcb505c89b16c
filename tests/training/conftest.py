"""Drawn hockey in miniature: pale ice with grain, lines, player blobs that face the puck, and a dark puck."""

from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest

from plucc.config import Spec
from plucc.data.manifest import write_dataset
from plucc.data.masks import encode_mask
from plucc.data.schema import DatasetInfo, LabelClass, Player, Puck, Record
from plucc.types import Box, ImageArray, PlayerRole, Point, Size

SIZE = Size(160, 128)
MATCHES = ("m0", "m1", "m2", "m3")


def draw_frame(rng: np.random.Generator) -> tuple[ImageArray, Point, list[Box]]:
    """Return a picture, the puck's centre and the players' boxes."""
    image = np.full((SIZE.height, SIZE.width, 3), 205, np.uint8)
    cv2.line(image, (int(rng.integers(20, 140)), 0), (int(rng.integers(20, 140)), SIZE.height), (200, 60, 60), 3)
    boxes = []
    for _ in range(3):
        x, y = int(rng.integers(12, SIZE.width - 12)), int(rng.integers(18, SIZE.height - 18))
        colour = tuple(int(value) for value in rng.integers(0, 160, 3))
        cv2.ellipse(image, (x, y), (6, 14), 0, 0, 360, colour, -1)
        boxes.append(Box(x - 6, y - 14, x + 7, y + 15))
    puck = Point(float(rng.uniform(10, SIZE.width - 10)), float(rng.uniform(10, SIZE.height - 10)))
    shift = 4
    centre = (round((puck.x - 0.5) * 2**shift), round((puck.y - 0.5) * 2**shift))
    cv2.circle(image, centre, 3 * 2**shift, (15, 15, 15), -1, cv2.LINE_AA, shift)
    noise = rng.normal(0, 3, image.shape)
    return np.clip(image + noise, 0, 255).astype(np.uint8), puck, boxes


def write_drawn(root: Path, count: int, seed: int = 0) -> Path:
    """Write a dataset of drawn frames, spread over four matches."""
    rng = np.random.default_rng(seed)
    pictures = root.parent / f"{root.name}-pictures"
    pictures.mkdir(parents=True)
    records = []
    for index in range(count):
        image, puck, boxes = draw_frame(rng)
        name = pictures / f"{index:03d}.png"
        cv2.imwrite(str(name), cv2.cvtColor(image, cv2.COLOR_RGB2BGR))
        players = []
        for box in boxes:
            mask = np.zeros((SIZE.height, SIZE.width), bool)
            mask[int(box.top) : int(box.bottom), int(box.left) : int(box.right)] = True
            players.append(Player(box_px=box, mask=encode_mask(mask), role=PlayerRole.SKATER))
        records.append(
            Record(
                image=f"../{pictures.name}/{name.name}",
                size=SIZE,
                match=MATCHES[index % len(MATCHES)],
                run=f"run{index // 2 * len(MATCHES) + index % len(MATCHES)}",
                puck=Puck(point_px=puck, box_px=Box(puck.x - 4, puck.y - 4, puck.x + 4, puck.y + 4)),
                players=tuple(players),
                homography=((0.4, 0.0, -30.0), (0.0, -0.2, 13.0), (0.0, 0.001, 1.0)),
            )
        )
    info = DatasetInfo(name=root.name, classes=tuple(LabelClass), licence="MIT", source="drawn for a test")
    write_dataset(root, info, records)
    return root


@pytest.fixture(scope="session")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_drawn(tmp_path_factory.mktemp("sets") / "drawn", 16)


def tiny_spec(dataset: Path, **sections: dict[str, object]) -> Spec:
    """Return a spec of some ten thousand parameters that a test can train in seconds."""
    network = {
        "frame": {
            "kind": "pyramid",
            "stem": {"width": 8},
            "stages": [{"width": 16, "depth": 1}, {"width": 24, "depth": 1}],
        },
        "context": {"kind": "pyramid", "stem": {"width": 8}, "stages": [{"width": 8, "depth": 1}]},
        "fused_strides": [8],
        "decoder_widths": [16, 16, 8],
        "logit_stride": 2,
        "presence": True,
    }
    base: dict[str, dict[str, object]] = {
        "network": network,
        "heatmap": {"height": SIZE.height, "width": SIZE.width, "sigma_px": 3.0},
        "data": {"datasets": [{"path": dataset}], "validation_matches": ["m3"], "crop_px": 64, "workers": 0},
        "augment": {"scale": [0.8, 1.25], "anywhere": 0.2, "paint_out": 0.1, "colour": 0.5},
        "train": {
            "batch": 4,
            "lr": 3e-3,
            "optimizer": "adamw",
            "schedule": "cosine",
            "epoch_samples": 24,
            "epochs": 2,
            "ema_decay": 0.9,
            "accelerator": "cpu",
            "threads": 1,
            "background_weight": 0.1,
            "checkpoint_minutes": 60,
        },
    }
    return Spec.model_validate({name: value | sections.get(name, {}) for name, value in base.items()})


@pytest.fixture(scope="session")
def tiny() -> Callable[..., Spec]:
    """Return what makes a small spec for a dataset, with sections overridden by name."""
    return tiny_spec


@pytest.fixture(scope="session")
def write_set() -> Callable[..., Path]:
    """Return what writes a drawn dataset of so many frames."""
    return write_drawn
