"""Where one camera shot may end and another begin, by the detectors of PySceneDetect."""

from collections.abc import Iterator

import cv2
import numpy as np

from plucc.types import ImageArray

LOOK_AHEAD = 2  # frames that must be known after a cut to tell it from a fast pan
WARM_UP = 2 * LOOK_AHEAD + 1  # frames before the first that matters, for a detector that starts on the way
WIDTH_PX = 256
_RATIO = 2.0  # a cut changes the picture this much more than its neighbours do; on rendered footage 3.0, pans 1.7
_LEAST_CHANGE = 12.0  # mean change of hue, saturation and brightness, of 255


class CutDetector:
    """Says of every frame whether a new shot may begin with it, `LOOK_AHEAD` frames after it was handed in.

    A cut is a frame that differs from the one before far more than the frames around it do; a pan, however fast, makes
    them all differ. The answer rests on the `LOOK_AHEAD` frames on either side alone: a detector that starts `WARM_UP`
    frames before a frame says the same of it as one that saw all of the video.
    """

    def __init__(self) -> None:
        from scenedetect.common import FrameTimecode  # noqa: PLC0415 - half a second that other commands need not wait
        from scenedetect.detectors import AdaptiveDetector  # noqa: PLC0415

        self._timecode = FrameTimecode
        self._detector = AdaptiveDetector(
            adaptive_threshold=_RATIO, min_scene_len=0, window_width=LOOK_AHEAD, min_content_val=_LEAST_CHANGE
        )
        self._fed = 0
        self._height_px = 0

    def feed(self, image: ImageArray) -> bool | None:
        """Take the next RGB frame; return the verdict on the one `LOOK_AHEAD` before it, None while there is none."""
        found = self._detector.process_frame(self._timecode(self._fed, fps=30.0), self._small(image))
        self._fed += 1
        if self._fed <= LOOK_AHEAD:
            return None
        return self._fed - 1 - LOOK_AHEAD in {cut.frame_num for cut in found}

    def flush(self) -> Iterator[bool]:
        """Yield the verdicts on the last frames: too little follows them to call a cut."""
        yield from [False] * min(LOOK_AHEAD, self._fed)

    def _small(self, image: ImageArray) -> ImageArray:
        """Return the reduced picture in OpenCV's order of colours; all of one size, whatever the frames do."""
        if not self._height_px:
            self._height_px = max(16, round(image.shape[0] * WIDTH_PX / image.shape[1]))
        small = cv2.resize(image, (WIDTH_PX, self._height_px), interpolation=cv2.INTER_AREA)
        return np.ascontiguousarray(small[..., ::-1])
