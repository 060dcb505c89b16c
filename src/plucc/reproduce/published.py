"""What the paper printed, in its own units: percent, pixels, metres, frames a second on an RTX 6000."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Published:
    """One method's numbers; None where the paper prints none."""

    mean_precision: float | None = None
    precision: tuple[float, float, float, float] | None = None  # AP at 5, 10, 25 and 50 px
    distance_px: float | None = None
    rink_precision: tuple[float, float, float] | None = None  # AP at r, 2r and 4r
    rsle_m: float | None = None
    frames_per_s: float | None = None
    frames_per_s_with_players: float | None = None


PLUCC = Published(83.5, (82.2, 83.6, 84.2, 85.0), 47.0, (43.59, 62.94, 81.23), 1.05, 53.3, 6.0)
PLUCC_SIGMA_15 = Published(81.6, (76.2, 82.0, 83.7, 84.7), 48.8, (20.69, 40.35, 67.68), 1.10, 53.3, 6.0)
FCN = Published(79.6, (74.8, 79.9, 81.3, 82.4), 52.11, (41.85, 54.23, 62.74), 3.89, 54.1)
FASTER_RCNN = Published(71.3, (69.6, 70.9, 72.0, 73.0), 71.4, (18.58, 19.14, 20.06), 3.76, 50.1)
YOLOV5 = Published(56.3, (51.5, 57.5, 57.9, 58.4), 55.2, (0.17, 2.69, 43.11), 3.14, 128.9)
CONTEXT_ONLY = Published(6.0, (0.2, 1.0, 5.7, 18.0), 178.5)
NO_DROPOUT = Published(None, None, 61.15, (39.9, float("nan"), float("nan")), 1.36)
NO_DROPOUT_AP5 = 78.7
MARGIN_OVER_FCN = 3.9
MARGIN_OVER_FASTER_RCNN = 12.2
