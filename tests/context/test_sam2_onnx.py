import os
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plucc.context.finder import PromptedFinder
from plucc.context.masks import box_mask
from plucc.context.quality import mask_iou
from plucc.context.sam2_onnx import SIDE_PX, Sam2Onnx, box_prompts
from plucc.data.schema import Player
from plucc.types import Box, ModelError, Size


@given(width=st.integers(16, 4000), height=st.integers(16, 4000))
def test_the_whole_frame_is_the_whole_square(width: int, height: int) -> None:
    prompts = box_prompts([Box(0, 0, width, height)], width, height)
    np.testing.assert_allclose(prompts[0], [[0, 0], [SIDE_PX, SIDE_PX]], rtol=1e-6)


@pytest.mark.parametrize("size", [Size(1280, 720), Size(640, 480), Size(321, 543)])
def test_a_painted_box_comes_out_at_its_pixels(sam2_onnx_folder: Path, size: Size) -> None:
    """More boxes than fit into one batch, all over frames of several aspects; the decoder paints what it is told."""
    segmenter = Sam2Onnx(sam2_onnx_folder, threads=1)
    across, down = size.width / 5, size.height / 4
    boxes = [Box(x * across, y * down, (x + 0.8) * across, (y + 0.7) * down) for y in range(3) for x in range(4)]
    masks = segmenter(np.zeros((size.height, size.width, 3), np.uint8), boxes)
    assert len(masks) == 12
    for mask, box in zip(masks, boxes, strict=True):
        assert mask.shape == (size.height, size.width)
        wrong = mask ^ box_mask([box], size)
        rows, columns = np.nonzero(wrong)
        # interpolating from 256² leaves at most half of a low-resolution pixel at the edges
        beside = np.minimum(abs(columns + 0.5 - box.left), abs(columns + 0.5 - box.right))
        above = np.minimum(abs(rows + 0.5 - box.top), abs(rows + 0.5 - box.bottom))
        from_edge = np.minimum(beside, above)
        assert (from_edge <= 0.5 * max(size.width, size.height) / 256 + 1).all()


def test_no_boxes_no_masks(sam2_onnx_folder: Path) -> None:
    assert Sam2Onnx(sam2_onnx_folder)(np.zeros((20, 20, 3), np.uint8), []) == []


def test_a_missing_or_foreign_export_is_refused(sam2_onnx_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no SAM 2 encoder .* point to the folder"):
        Sam2Onnx(tmp_path / "nowhere")
    encoder = (sam2_onnx_folder / "tiny_encoder.onnx").read_bytes()
    (tmp_path / "an_encoder.onnx").write_bytes(encoder)
    (tmp_path / "a_decoder.onnx").write_bytes(encoder)
    with pytest.raises(ModelError, match="expected an export of SAM 2"):
        Sam2Onnx(tmp_path)
    (tmp_path / "a_decoder.onnx").write_bytes(b"no model")
    with pytest.raises(ModelError, match="cannot be opened"):
        Sam2Onnx(tmp_path)


@pytest.mark.slow
def test_the_real_files_draw_a_figure() -> None:
    """Needs the real export; where it is, PLUCC_SAM2_ONNX says."""
    place = os.environ.get("PLUCC_SAM2_ONNX")
    if not place:
        pytest.skip("PLUCC_SAM2_ONNX does not name a folder with SAM 2's ONNX files")
    frame = np.full((720, 1280, 3), (225, 232, 238), np.uint8)
    truth = np.zeros((720, 1280), np.uint8)
    cv2.ellipse(truth, (600, 300), (14, 16), 0, 0, 360, 1, -1)
    cv2.rectangle(truth, (580, 312), (622, 380), 1, -1)
    cv2.line(truth, (590, 380), (580, 430), 1, 15)
    cv2.line(truth, (612, 380), (628, 430), 1, 15)
    frame[truth > 0] = (150, 20, 30)
    rows, columns = np.nonzero(truth)
    box = Box(float(columns.min()), float(rows.min()), float(columns.max() + 1), float(rows.max() + 1))
    finder = PromptedFinder(Sam2Onnx(Path(place), threads=1))
    assert mask_iou(finder(frame, [Player(box_px=box)]), truth > 0) > 0.85
