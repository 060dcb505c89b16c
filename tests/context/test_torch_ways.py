import logging
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from plucc.context.detector_torch import InstanceFinder, TorchDetector
from plucc.context.hub import chosen_device
from plucc.context.masks import box_mask
from plucc.context.sam2_torch import Sam2Torch
from plucc.types import Box, InputError, ModelError, Size

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

SIZE = Size(200, 90)
FRAME = np.random.default_rng(3).integers(0, 256, (SIZE.height, SIZE.width, 3), np.uint8)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    from transformers.utils import logging as hub_logging

    hub_logging.disable_progress_bar()
    yield
    hub_logging.enable_progress_bar()


def test_random_sam2_gives_a_mask_for_each_box(sam2_folder: Path) -> None:
    segmenter = Sam2Torch(str(sam2_folder), device="cpu")
    masks = segmenter(FRAME, [Box(5, 6, 60, 80), Box(100, 20, 150, 70), Box(0, 0, 200, 90)])
    assert [mask.shape for mask in masks] == [(90, 200)] * 3
    assert all(mask.dtype == bool for mask in masks)
    assert segmenter(FRAME, []) == []


def test_sam2_prompts_and_masks_are_scaled_to_the_frame(sam2_folder: Path) -> None:
    """The real processor, and in the model's place one that paints the prompted boxes at its own low resolution."""
    segmenter = Sam2Torch(str(sam2_folder), device="cpu")
    segmenter._model = BoxPainter(square=128, low=32)
    boxes = [Box(20, 9, 60, 81), Box(150, 45, 200, 90)]
    for mask, box in zip(segmenter(FRAME, boxes), boxes, strict=True):
        wrong = mask ^ box_mask([box], SIZE)
        # one low-resolution pixel is 6.25 x 2.8 px of the frame
        rows, columns = np.nonzero(wrong)
        beside = (abs(columns + 0.5 - box.left) < 4) | (abs(columns + 0.5 - box.right) < 4)
        above = (abs(rows + 0.5 - box.top) < 2.5) | (abs(rows + 0.5 - box.bottom) < 2.5)
        assert (beside | above).all()
        assert wrong.sum() < 0.15 * box.width * box.height


def test_random_detector_gives_people_in_the_frame(detector_folder: Path) -> None:
    boxes = TorchDetector(str(detector_folder), device="cpu", score=0.0)(FRAME)
    assert boxes
    assert all(0 <= box.left < box.right <= SIZE.width and 0 <= box.top < box.bottom <= SIZE.height for box in boxes)


def test_detected_boxes_are_scaled_to_the_frame_and_filtered(detector_folder: Path) -> None:
    """Real post-processing of known output: a person, a puck, a faint person, a person beyond the edge."""
    detector = TorchDetector(str(detector_folder), device="cpu", score=0.5)
    boxes = torch.tensor([[[0.5, 0.5, 0.2, 0.4], [0.2, 0.2, 0.1, 0.1], [0.7, 0.7, 0.1, 0.1], [1.0, 1.0, 0.2, 0.2]]])
    logits = torch.tensor([[[4.0, -9.0], [-9.0, 4.0], [-4.0, -9.0], [3.0, -9.0]]])
    detector._model = Answer(SimpleNamespace(logits=logits, pred_boxes=boxes))
    found = detector(FRAME)
    expected = [(80, 27, 120, 63), (180, 81, 200, 90)]
    np.testing.assert_allclose([(b.left, b.top, b.right, b.bottom) for b in found], expected, atol=1e-3)


def test_random_instances_give_a_mask(instances_folder: Path) -> None:
    finder = InstanceFinder(str(instances_folder), device="cpu", score=0.0)
    mask = finder(FRAME)
    assert mask.shape == (90, 200)
    assert mask.dtype == bool
    assert not InstanceFinder(str(instances_folder), device="cpu", score=1.0)(FRAME).any()


def test_instances_keep_people_only_and_at_their_place(instances_folder: Path) -> None:
    finder = InstanceFinder(str(instances_folder), device="cpu", score=0.5)
    masks = torch.full((1, 2, 18, 40), -5.0)
    masks[0, 0, 4:14, 8:16] = 5.0
    masks[0, 1, 4:14, 24:32] = 5.0
    logits = torch.tensor([[[4.0, -9.0], [-9.0, 4.0]]])
    boxes = torch.full((1, 2, 4), 0.3)
    finder._model = Answer(SimpleNamespace(logits=logits, pred_boxes=boxes, pred_masks=masks))
    mask = finder(FRAME)
    truth = box_mask([Box(40, 20, 80, 70)], SIZE)
    assert (mask ^ truth).sum() < 0.1 * truth.sum()


def test_a_detector_without_people_is_refused(goose_folder: Path) -> None:
    with pytest.raises(ModelError, match="knows no class of people"):
        TorchDetector(str(goose_folder), device="cpu")


def test_a_missing_local_model_says_where_to_point(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    with pytest.raises(ModelError, match="give a folder in the hub's format"):
        Sam2Torch(str(tmp_path), device="cpu")


def test_the_version_follows_the_weights(detector_folder: Path, tmp_path: Path) -> None:
    first = TorchDetector(str(detector_folder), device="cpu").version
    assert TorchDetector(str(detector_folder), device="cpu").version == first
    copy = tmp_path / detector_folder.name
    copy.mkdir()
    for file in detector_folder.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    model = TorchDetector(str(copy), device="cpu")
    assert model.version == first
    with torch.no_grad():
        next(model._model.parameters()).add_(1)
    model._model.save_pretrained(copy)
    assert TorchDetector(str(copy), device="cpu").version != first


def test_devices() -> None:
    assert chosen_device("cpu") == "cpu"
    assert chosen_device("auto") in ("cpu", "cuda", "mps")
    with pytest.raises(InputError, match="abacus is not available"):
        chosen_device("abacus")


class Answer:
    """Stands in for a model and gives one fixed output."""

    device, dtype = "cpu", torch.float32

    def __init__(self, output: Any) -> None:
        self._output = output

    def __call__(self, **inputs: Any) -> Any:
        return self._output


class BoxPainter:
    """Stands in for SAM 2: logits rise towards the middle of each prompted box and are zero on its edge."""

    device, dtype = "cpu", torch.float32

    def __init__(self, square: int, low: int) -> None:
        self._centres = (torch.arange(low) + 0.5) * square / low

    def __call__(self, *, pixel_values: Any, input_boxes: Any, multimask_output: bool) -> Any:
        assert pixel_values.shape == (1, 3, 128, 128)
        assert not multimask_output
        left, top, right, bottom = (input_boxes[0, :, edge, None, None] for edge in range(4))
        x, y = self._centres[None, None, :], self._centres[None, :, None]
        inside = torch.minimum(torch.minimum(x - left, right - x), torch.minimum(y - top, bottom - y))
        return SimpleNamespace(pred_masks=inside[None, :, None])
