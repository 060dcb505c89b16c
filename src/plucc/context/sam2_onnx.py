"""SAM 2 on ONNX Runtime, from the two files that its usual exports consist of: an image encoder and a mask decoder."""

from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np
import onnxruntime as ort

from plucc.context.finder import digest_of
from plucc.types import Box, FloatArray, ImageArray, MaskArray, ModelError

SIDE_PX = 1024  # the encoder looks at a square; the frame is stretched to it, not padded
MEAN = np.array([0.485, 0.456, 0.406], np.float32)
SPREAD = np.array([0.229, 0.224, 0.225], np.float32)
CORNER_LABELS = (2.0, 3.0)  # SAM's words for the top left and bottom right corners of a box
BATCH_BOXES = 8  # more at once only takes more memory
DECODER_INPUTS = frozenset({"point_coords", "point_labels", "mask_input", "has_mask_input"})


class Sam2Onnx:
    """Draws what is in each box; of the three masks that SAM 2 offers, the one it trusts most."""

    def __init__(self, folder: Path, *, threads: int | None = None) -> None:
        encoder, decoder = _only(folder, "encoder"), _only(folder, "decoder")
        self._encoder, self._decoder = _session(encoder, threads), _session(decoder, threads)
        needed = {entry.name for entry in self._decoder.get_inputs()}
        self._features = [entry.name for entry in self._encoder.get_outputs()]
        if needed - set(self._features) != DECODER_INPUTS:
            raise ModelError(
                f"{decoder} asks for {', '.join(sorted(needed))}: expected an export of SAM 2 with box prompts"
            )
        self._low_side = int(next(e.shape[-1] for e in self._decoder.get_inputs() if e.name == "mask_input"))
        self.version = f"sam2-onnx-{digest_of([encoder, decoder])}"

    def __call__(self, frame: ImageArray, boxes: Sequence[Box]) -> list[MaskArray]:
        if not boxes:
            return []
        height, width = frame.shape[:2]
        features = self.encode(frame)
        masks: list[MaskArray] = []
        for start in range(0, len(boxes), BATCH_BOXES):
            for logits in self.decode(features, box_prompts(boxes[start : start + BATCH_BOXES], width, height)):
                full = cv2.resize(logits, (width, height), interpolation=cv2.INTER_LINEAR)
                masks.append(np.asarray(full > 0, bool))
        return masks

    def encode(self, frame: ImageArray) -> dict[str, FloatArray]:
        """Return the features of a frame, by the names that the decoder knows them by."""
        square = cv2.resize(frame, (SIDE_PX, SIDE_PX), interpolation=cv2.INTER_LINEAR)
        normal = (square.astype(np.float32) / 255 - MEAN) / SPREAD
        values = self._encoder.run(None, {self._encoder.get_inputs()[0].name: normal.transpose(2, 0, 1)[None]})
        return dict(zip(self._features, values, strict=True))

    def decode(self, features: dict[str, FloatArray], prompts: FloatArray) -> FloatArray:
        """Return the most trusted mask of each prompt (n, 2, 2) as logits of low resolution."""
        count = len(prompts)
        inputs = {
            **features,
            "point_coords": prompts,
            "point_labels": np.tile(np.array(CORNER_LABELS, np.float32), (count, 1)),
            "mask_input": np.zeros((count, 1, self._low_side, self._low_side), np.float32),
            "has_mask_input": np.zeros(1, np.float32),
        }
        masks, trust = self._decoder.run(["masks", "iou_predictions"], inputs)
        return np.asarray(masks[np.arange(count), trust.argmax(axis=1)], np.float32)


def box_prompts(boxes: Sequence[Box], width: int, height: int) -> FloatArray:
    """Return each box as two corners (n, 2, 2) in the encoder's square."""
    corners = np.array([[[box.left, box.top], [box.right, box.bottom]] for box in boxes], np.float32)
    return corners * np.array([SIDE_PX / width, SIDE_PX / height], np.float32)


def _only(folder: Path, part: str) -> Path:
    found = (
        [path for path in sorted(folder.glob(f"*{part}*")) if path.suffix in (".onnx", ".ort")]
        if folder.is_dir()
        else []
    )
    if len(found) != 1:
        number = "no" if not found else "more than one"
        raise ModelError(
            f"{folder} holds {number} SAM 2 {part} (*{part}*.onnx or .ort): "
            f"point to the folder of an ONNX export of SAM 2"
        )
    return found[0]


def _session(path: Path, threads: int | None) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads or 0
    options.log_severity_level = 3
    try:
        return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime's own classes share no public base
        raise ModelError(f"{path} cannot be opened by ONNX Runtime: get the file again") from error
