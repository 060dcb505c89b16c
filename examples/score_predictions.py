"""Score predictions against labels as the paper does, with intervals: python examples/score_predictions.py."""

from dataclasses import replace

import numpy as np

from plucc.metrics.figures import image_estimates, measure
from plucc.metrics.frames import ScoredFrames
from plucc.types import Size


def main() -> None:
    """Make up 300 frames of 12 matches, a tenth of them without a prediction, and print their figures."""
    rng = np.random.default_rng(7)
    labels = rng.uniform((0, 0), (1280, 720), (300, 2))
    predictions = labels + 3 * rng.standard_t(2, (300, 2))
    predictions[rng.random(300) < 0.1] = np.nan
    frames = ScoredFrames.plain(predictions, labels, Size(1280, 720))
    frames = replace(frames, match=np.arange(300) % 12)
    for figure in measure(frames, [image_estimates], rng):
        print(f"{figure.name:22} {figure.value:8.3f}   95 % interval {figure.low:.3f} to {figure.high:.3f}")


if __name__ == "__main__":
    main()
