"""The standard of a rink, told from rendered frames of arenas whose sheets are known."""

import numpy as np
import pytest

from plucc.register.standard import candidates, find_sheet
from plucc.rink.evidence import read_evidence
from plucc.synth.arena import build_stage
from plucc.synth.match import sample_match
from plucc.types import InputError

AIMS_M = ((-18.0, 0.0), (3.0, 0.0), (18.0, 0.0))
ARENAS = {"nhl": 12, "iihf": 7, "ncaa": 1}  # numbers of matches of one seed, by their sheet


def _evidence(shoot, number):
    stage = build_stage(sample_match(seed=21, number=number))
    shown = [shoot(stage, aim_m, frame) for frame, aim_m in enumerate(AIMS_M)]
    return stage.match.sheet, [read_evidence(one.image, one.players) for one in shown]


@pytest.mark.slow
@pytest.mark.parametrize("name", ARENAS)
def test_the_sheet_is_found_from_three_frames(shoot, name):
    sheet, evidence = _evidence(shoot, ARENAS[name])
    assert sheet.name == name
    found = find_sheet(evidence)
    assert found.name == name
    assert found.width_m == pytest.approx(sheet.width_m, abs=0.51)


def test_every_standard_is_among_the_candidates():
    names = [sheet.name for sheet in candidates()]
    assert set(names) == {"nhl", "nhl-pre2014", "ncaa", "iihf"}
    widths = [sheet.width_m for sheet in candidates() if sheet.name == "iihf"]
    assert np.diff(widths).max() <= 1.0


def test_without_a_frame_of_a_rink_the_sheet_must_be_named():
    with pytest.raises(InputError, match="--rink"):
        find_sheet([])
