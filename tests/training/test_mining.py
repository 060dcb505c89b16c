"""Confident mistakes are found where they are, and only those."""

from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

from plucc.config import Spec
from plucc.training.frames import read_mistakes
from plucc.training.mining import find_mistakes, write_mistakes
from plucc.training.sources import open_sources
from plucc.types import Point


class SeesTwoPlaces(nn.Module):
    """Puts most of its heat on one fixed place and the rest on another, whatever it is shown."""

    def __init__(self, first: Point, second: Point) -> None:
        super().__init__()
        self.places = (first, second)
        self.anchor = nn.Parameter(torch.zeros(1))

    def forward(self, frame: Tensor, context: Tensor | None = None) -> Tensor:
        height, width = frame.shape[-2] // 2, frame.shape[-1] // 2
        y, x = torch.meshgrid((torch.arange(height) + 0.5) * 2, (torch.arange(width) + 0.5) * 2, indexing="ij")
        heat = sum(
            share * torch.exp(-((x - place.x) ** 2 + (y - place.y) ** 2) / 18)
            for share, place in zip((0.7, 0.3), self.places, strict=True)
        )
        return torch.log(heat + 1e-12)[None, None] + 0 * self.anchor


def test_mistakes_are_the_peaks_away_from_the_puck(drawn: Path, tiny: Callable[..., Spec], tmp_path: Path) -> None:
    spec = tiny(drawn)
    source = open_sources(spec).training[0]
    puck = source.records[0].puck
    assert puck is not None
    wrong = Point((puck.centre_px.x + 80) % 150 + 4, (puck.centre_px.y + 60) % 118 + 4)
    network = SeesTwoPlaces(puck.centre_px, wrong)
    mistakes = find_mistakes(network, source, spec, least=0.2)  # type: ignore[arg-type]
    in_first = [mistake for mistake in mistakes if mistake.image == source.records[0].image]
    assert len(in_first) == 1
    assert in_first[0].place_px.distance(wrong) < 0.5
    write_mistakes(tmp_path / "mistakes.jsonl", mistakes)
    read = read_mistakes(tmp_path / "mistakes.jsonl")
    assert read[source.records[0].image][0].distance(wrong) < 0.6
