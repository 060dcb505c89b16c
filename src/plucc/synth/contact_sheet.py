"""A contact sheet: for every category two frames, each beside its puck enlarged."""

from pathlib import Path

import cv2
import numpy as np

from plucc.files import whole_file
from plucc.synth.adverts import stamp, text_mask
from plucc.synth.arena import Stage, build_stage
from plucc.synth.frames import plan_frames
from plucc.synth.match import sample_match
from plucc.synth.render import Rendered, find_scene, render
from plucc.types import Category, ImageArray, InputError, Point, Progress, Size, silent

TILE = Size(320, 180)
COLUMNS = 2
HEADER_PX = 18
GAP_PX = 4
ENLARGED = 3
GROUND = 250
KEPT_BITS = 0b11111000  # fine grain is lost at this size anyway, and costs half of the file


def write_sheet(out: Path, seed: int, size: Size, *, progress: Progress = silent) -> None:
    """Render the sheet into a new picture file."""
    if out.exists():
        raise InputError(f"{out} exists already: choose another name, or remove it first")
    if out.suffix.lower() not in {".png", ".jpg", ".jpeg", ".webp"}:
        raise InputError(f"{out} is no name for a picture: let it end in .png, .jpg or .webp")
    plan_frames(1, seed, size)
    stages = [build_stage(sample_match(seed, number)) for number in range(COLUMNS)]
    rows = [
        _row(stages, index, category, size)
        for index, category in enumerate(progress(list(Category), label="rendering"))
    ]
    sheet = np.concatenate(rows, axis=0)
    _, encoded = cv2.imencode(out.suffix, cv2.cvtColor(sheet, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_PNG_COMPRESSION, 9])
    try:
        with whole_file(out) as path:
            path.write_bytes(encoded.tobytes())
    except OSError as error:
        raise InputError(f"{out} could not be written ({error.strerror}): make room or choose another place") from error


def _row(stages: list[Stage], index: int, category: Category, size: Size) -> ImageArray:
    """Return a heading and, side by side, frames with their pucks."""
    pairs = []
    for stage in stages:
        scene = find_scene(stage, index, category, size)
        rendered = render(stage, scene)
        frame = cv2.resize(rendered.image, (TILE.width, TILE.height), interpolation=cv2.INTER_AREA)
        pairs += [np.asarray(frame, np.uint8) & KEPT_BITS, _enlarge(rendered) & KEPT_BITS]
    gap = np.full((TILE.height, GAP_PX, 3), GROUND, np.uint8)
    pictures = np.concatenate([part for picture in pairs for part in (picture, gap)][:-1], axis=1)
    header = np.full((HEADER_PX, pictures.shape[1], 3), GROUND, np.float32)
    stamp(header, text_mask(category.value, 9, cv2.FONT_HERSHEY_DUPLEX, 0.1), (20, 20, 20), (2, 2))
    return np.concatenate([header.astype(np.uint8), pictures], axis=0)


def _enlarge(rendered: Rendered) -> ImageArray:
    """Return the surroundings of the puck, or the middle of the picture when there is none, three times as large."""
    height, width = rendered.image.shape[:2]
    centre = Point(width / 2, height / 2) if rendered.puck is None else rendered.puck.point_px
    side = min(TILE.height // ENLARGED, width, height)
    left = int(np.clip(round(centre.x - side / 2), 0, width - side))
    top = int(np.clip(round(centre.y - side / 2), 0, height - side))
    crop = rendered.image[top : top + side, left : left + side]
    return np.asarray(cv2.resize(crop, (TILE.height, TILE.height), interpolation=cv2.INTER_CUBIC), np.uint8)
