"""SAM 2 through transformers: the paper's segmenter."""

from collections.abc import Sequence

import numpy as np

from plucc.context.hub import EXTRA, load_pair, version_of
from plucc.types import Box, ImageArray, MaskArray, require


class Sam2Torch:
    """Draws what is in each box; all boxes of a frame go through the decoder at once."""

    def __init__(self, source: str, *, device: str = "auto") -> None:
        self._model, self._processor = load_pair("Sam2Model", "Sam2Processor", source, device)
        self.version = f"sam2-{version_of(source, self._model)}"

    def __call__(self, frame: ImageArray, boxes: Sequence[Box]) -> list[MaskArray]:
        if not boxes:
            return []
        torch = require("torch", EXTRA)
        corners = [[[box.left, box.top, box.right, box.bottom] for box in boxes]]
        inputs = self._processor(images=frame, input_boxes=corners, return_tensors="pt")
        model = self._model
        with torch.inference_mode():
            # a box leaves no doubt about which part is meant, so one mask is asked for instead of three guesses
            output = model(
                pixel_values=inputs["pixel_values"].to(model.device, model.dtype),
                input_boxes=inputs["input_boxes"].to(model.device, model.dtype),
                multimask_output=False,
            )
        masks = self._processor.post_process_masks(output.pred_masks.float().cpu(), inputs["original_sizes"])[0]
        return [np.asarray(mask, bool) for mask in masks[:, 0].numpy()]
