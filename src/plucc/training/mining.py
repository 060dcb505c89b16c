"""Hard negatives: the places in training frames where a trained network is sure and wrong."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from plucc.config import Spec
from plucc.files import whole_file
from plucc.heatmap import top_peaks
from plucc.network.plucc import PuckNetwork
from plucc.training.dataset import FrameSource, as_example, whole_frame
from plucc.training.sample import Sample
from plucc.training.validation import normalised
from plucc.types import Point, Progress, silent

MISS_PX = 25.0  # at 720 lines: nearer to the puck than this is no mistake
PEAKS = 4


@dataclass(frozen=True, slots=True)
class Mistake:
    """A place, in the image's own pixels, that holds `confidence` of the heatmap though the puck is elsewhere."""

    image: str
    place_px: Point
    confidence: float


def write_mistakes(path: Path, mistakes: Sequence[Mistake]) -> None:
    """Write the list that `data.datasets[].hard_negatives` reads."""
    with whole_file(path) as temporary, temporary.open("w") as file:
        for mistake in mistakes:
            line = {"image": mistake.image, "x": round(mistake.place_px.x, 1), "y": round(mistake.place_px.y, 1)}
            file.write(json.dumps(line | {"confidence": round(mistake.confidence, 4)}) + "\n")


@torch.inference_mode()
def find_mistakes(
    network: PuckNetwork, source: FrameSource, spec: Spec, *, least: float = 0.05, progress: Progress = silent
) -> list[Mistake]:
    """Look through whole frames and return every peak with at least so much confidence that is not the puck's."""
    network.eval()
    found: list[Mistake] = []
    for index in progress(range(len(source)), total=len(source), label="mining"):
        sample = source.sample(index)
        for place, confidence in _wrong_peaks(network, sample, spec):
            if confidence >= least:
                found.append(Mistake(source.records[index].image, place, confidence))
    return found


def _wrong_peaks(network: PuckNetwork, sample: Sample, spec: Spec) -> Iterator[tuple[Point, float]]:
    view = whole_frame(sample, spec)
    example = as_example(view, view.size.height)
    device = next(network.parameters()).device
    frame, context = (
        normalised(torch.from_numpy(np.array(pixels))[None].to(device), spec.network)
        for pixels in (example.frame, example.context)
    )
    output = network(frame, context)
    logits = output[0] if isinstance(output, tuple) else output
    peaks = top_peaks(
        logits[0, 0].float().cpu().numpy(), PEAKS, sigma_px=spec.heatmap.sigma_px, stride_px=spec.network.logit_stride
    )
    back = sample.size.height / view.size.height
    for peak in peaks:
        place = Point(peak.xy_px.x * back, peak.xy_px.y * back)
        if sample.point_px is None or place.distance(sample.point_px) * sample.size.reference_scale > MISS_PX:
            yield place, peak.confidence
