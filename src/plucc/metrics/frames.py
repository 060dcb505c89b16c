"""Predictions beside their labels: what every figure of a report is computed from."""

from dataclasses import dataclass, fields

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from plucc.types import DataError, ShapeError, Size


@dataclass(frozen=True, slots=True, eq=False)
class ScoredFrames:
    """One row a frame, all arrays in the same order.

    Points are in the frame's own pixels, NaN where there is none. `confidence` is given for every frame, also where no
    point is. Homographies map undistorted pixels to metres and carry their sign as `rink.homography.Homography` does;
    NaN where there is none. `run` names near-duplicate frames within a match.
    """

    predicted_px: Float[np.ndarray, "n 2"]
    target_px: Float[np.ndarray, "n 2"]
    confidence: Float[np.ndarray, " n"]
    size_px: Int[np.ndarray, "n 2"]  # width, height
    to_rink: Float[np.ndarray, "n 3 3"]  # the labelled homography
    predicted_to_rink: Float[np.ndarray, "n 3 3"]
    match: Shaped[np.ndarray, " n"]
    run: Shaped[np.ndarray, " n"]
    category: Shaped[np.ndarray, " n"]

    def __post_init__(self) -> None:
        count = len(self.predicted_px)
        for name, row_shape in _ROW_SHAPES.items():
            shape = getattr(self, name).shape
            if shape != (count, *row_shape):
                raise ShapeError(
                    f"{name} has shape {shape}; {count} frames need {(count, *row_shape)}: give a row for each"
                )
        if not np.isfinite(self.confidence).all():
            row = int(np.flatnonzero(~np.isfinite(self.confidence))[0])
            raise DataError(f"confidence of row {row} is not a number: give 0 where nothing was found")
        for name in ("predicted_px", "target_px"):
            is_missing = np.isnan(getattr(self, name))
            if (is_missing[:, 0] != is_missing[:, 1]).any():
                row = int(np.flatnonzero(is_missing[:, 0] != is_missing[:, 1])[0])
                raise DataError(f"row {row} of {name} has one coordinate only: give both, or NaN for both")

    def __len__(self) -> int:
        return len(self.predicted_px)

    @classmethod
    def plain(
        cls, predicted_px: Float[np.ndarray, "n 2"], target_px: Float[np.ndarray, "n 2"], size: Size
    ) -> "ScoredFrames":
        """Return frames of one size that nothing else is known about; add the rest with `dataclasses.replace`.

        Confidence is 1 where there is a prediction and 0 elsewhere. All frames count as one run of one match, for
        want of a reason to think them independent, so their figures have no intervals.

        >>> ScoredFrames.plain(np.full((3, 2), np.nan), np.zeros((3, 2)), Size(1280, 720)).is_predicted
        array([False, False, False])
        """
        count = len(predicted_px)
        return cls(
            predicted_px=predicted_px,
            target_px=target_px,
            confidence=np.isfinite(predicted_px).all(axis=1).astype(np.float64),
            size_px=np.tile(np.array([size.width, size.height]), (count, 1)),
            to_rink=np.full((count, 3, 3), np.nan),
            predicted_to_rink=np.full((count, 3, 3), np.nan),
            match=np.zeros(count, dtype=np.int64),
            run=np.zeros(count, dtype=np.int64),
            category=np.full(count, "standard"),
        )

    @property
    def has_puck(self) -> Bool[np.ndarray, " n"]:
        return np.asarray(np.isfinite(self.target_px).all(axis=1))

    @property
    def is_predicted(self) -> Bool[np.ndarray, " n"]:
        return np.asarray(np.isfinite(self.predicted_px).all(axis=1))

    @property
    def height_px(self) -> Float[np.ndarray, " n"]:
        return self.size_px[:, 1].astype(np.float64)

    def select(self, rows: Bool[np.ndarray, " n"] | Int[np.ndarray, " m"]) -> "ScoredFrames":
        """Return the chosen frames only."""
        return ScoredFrames(**{field.name: getattr(self, field.name)[rows] for field in fields(self)})


_ROW_SHAPES: dict[str, tuple[int, ...]] = {
    "predicted_px": (2,),
    "target_px": (2,),
    "confidence": (),
    "size_px": (2,),
    "to_rink": (3, 3),
    "predicted_to_rink": (3, 3),
    "match": (),
    "run": (),
    "category": (),
}
