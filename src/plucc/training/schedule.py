"""The learning rate as a function of how far the run is, and of how validation goes."""

from dataclasses import dataclass, replace
from math import cos, inf, pi

from plucc.config import TrainSpec

FLOOR = 0.005  # the cosine ends at this share of the peak rate


@dataclass(frozen=True, slots=True)
class Plateau:
    """How often validation failed to improve, and what that has done to the rate."""

    best: float = -inf
    epochs_without_gain: int = 0
    factor: float = 1.0

    def after(self, score: float, spec: TrainSpec) -> "Plateau":
        """Return the state after one more validation: no gain for `patience_epochs` in a row lowers the rate."""
        if score > self.best:
            return replace(self, best=score, epochs_without_gain=0)
        if self.epochs_without_gain + 1 < spec.patience_epochs:
            return replace(self, epochs_without_gain=self.epochs_without_gain + 1)
        return Plateau(self.best, 0, self.factor * spec.lr_factor)


def learning_rate(spec: TrainSpec, progress: float, plateau: Plateau) -> float:
    """Return the rate at a share `progress` of the run: a linear rise, then the schedule."""
    rise = min(progress / spec.warmup, 1.0) if spec.warmup else 1.0
    if spec.schedule == "plateau":
        return spec.lr * rise * plateau.factor
    if spec.schedule == "constant":
        return spec.lr * rise
    passed = min(max(progress - spec.warmup, 0.0) / max(1 - spec.warmup, 1e-9), 1.0)
    return spec.lr * rise * (FLOOR + (1 - FLOOR) * (0.5 + 0.5 * cos(pi * passed)))
