import numpy as np
import pytest

from plucc.rink.camera import Camera
from plucc.rink.sheet import iihf, ncaa, nhl
from plucc.rink.template import Look, ice_template, joined, template
from plucc.rink.visibility import visible
from plucc.types import Size

SHEETS = [nhl(), iihf(29.0), ncaa()]


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda sheet: sheet.name)
def test_samples_lie_on_the_rink_and_stand_for_its_lines(sheet):
    samples = template(sheet, 0.5)
    assert (sheet.distance_inside(samples.points_m) > -0.01).all()
    np.testing.assert_allclose(np.hypot(*samples.tangents.T), 1.0)
    blue = samples.look == Look.BLUE_BAND
    assert samples.step_m[blue].sum() == pytest.approx(2 * sheet.width_m, rel=0.05)
    rings = samples.look == Look.RING
    assert samples.step_m[rings].sum() == pytest.approx(5 * 2 * np.pi * sheet.circle_radius_m, rel=0.05)


def test_the_template_is_as_symmetric_as_the_rink():
    samples = template(iihf(30.0), 0.5)
    for flip in ((-1.0, 1.0), (1.0, -1.0)):
        for look in Look:
            points = samples.points_m[samples.look == look]
            if len(points):
                mirrored = points * flip
                gap = np.hypot(*(points[:, None] - mirrored[None]).transpose(2, 0, 1)).min(axis=0)
                assert gap.max() < 0.5


def test_no_sample_of_the_centre_line_is_under_the_emblem():
    samples = template(nhl(), 0.25)
    band = samples.points_m[samples.look == Look.RED_BAND]
    assert np.abs(band[:, 1]).min() > nhl().circle_radius_m


def test_boards_are_seen_from_inside_only():
    sheet = nhl()
    samples = template(sheet, 0.5)
    camera = Camera.look_at((0.0, -36.0, 13.0), (0.0, 0.0, 0.0), 800.0, Size(1280, 720))
    shows = visible(camera, samples, sheet)
    plate = samples.look == Look.KICK_PLATE
    assert shows[plate & (samples.points_m[:, 1] > 10)].all()
    assert not shows[plate & (samples.points_m[:, 1] < -12.9)].any()
    near = samples.points_m[:, 1] < -sheet.width_m / 2 + 1.0
    assert not shows[near & ~plate].any()


def test_ice_samples_are_inside():
    sheet = nhl()
    ice = ice_template(sheet, 3.0)
    assert sheet.contains(ice.points_m).all()
    assert len(joined(ice, template(sheet, 1.0))) == len(ice) + len(template(sheet, 1.0))
