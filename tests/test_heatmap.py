"""Encoding and decoding are inverse, and no transformation of the picture changes that."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plucc.heatmap import axis_centres, decode, gaussian_target, kl_divergence, pixel_centres, top_peaks
from plucc.types import InputError, Point, ShapeError, Size

SIZE = Size(width=112, height=96)
shares = st.floats(0.0, 1.0)
sigmas_px = st.floats(1.0, 8.0)


def inside(across: float, down: float, size: Size, margin_px: float = 0.0) -> Point:
    """Return the point at these shares of the frame less its margin."""
    return Point(
        margin_px + across * (size.width - 2 * margin_px),
        margin_px + down * (size.height - 2 * margin_px),
    )


def logits_of(target: np.ndarray, floor: float = 0.0) -> np.ndarray:
    """Return the logits of a network that spreads `floor` of its probability evenly over the map, in its precision."""
    tiny = np.finfo(np.float64).tiny
    return np.log((1 - floor) * target + floor / target.size + tiny).astype(np.float32)


@given(across=shares, down=shares, sigma_px=sigmas_px)
def test_encoding_then_decoding_gives_back_the_point_inside(across, down, sigma_px):
    point = inside(across, down, SIZE, margin_px=3 * sigma_px)
    peak = decode(logits_of(gaussian_target(point, SIZE, sigma_px)), sigma_px=sigma_px)
    assert peak.xy_px.distance(point) < 0.05


@given(across=shares, down=shares, sigma_px=sigmas_px)
def test_encoding_then_decoding_gives_back_the_point_at_the_border(across, down, sigma_px):
    point = inside(across, down, SIZE)
    peak = decode(logits_of(gaussian_target(point, SIZE, sigma_px)), sigma_px=sigma_px)
    assert peak.xy_px.distance(point) < 0.3


@pytest.mark.parametrize("corner", [(0.0, 0.0), (112.0, 0.0), (0.0, 96.0), (112.0, 96.0), (0.0, 40.2)])
@pytest.mark.parametrize("sigma_px", [0.7, 5.0])
def test_the_very_edge_decodes_exactly(corner, sigma_px):
    peak = decode(np.log(gaussian_target(Point(*corner), SIZE, sigma_px) + 1e-300), sigma_px=sigma_px)
    assert peak.xy_px.distance(Point(*corner)) < 1e-3


@given(across=shares, down=shares, floor=st.floats(0.0, 0.5))
def test_a_floor_under_the_peak_does_not_move_it(across, down, floor):
    point = inside(across, down, SIZE, margin_px=15.0)
    assert decode(logits_of(gaussian_target(point, SIZE), floor)).xy_px.distance(point) < 0.05
    edge = inside(across, down, SIZE)
    assert decode(logits_of(gaussian_target(edge, SIZE), floor)).xy_px.distance(edge) < 0.3


@given(across=shares, down=shares, stride_px=st.sampled_from([2.0, 4.0]))
def test_maps_of_coarser_stride_decode_in_frame_pixels(across, down, stride_px):
    frame = Size(width=224, height=192)
    cells = Size(width=int(frame.width / stride_px), height=int(frame.height / stride_px))
    point = inside(across, down, frame, margin_px=15.0)
    target = gaussian_target(point, cells, 5.0, stride_px=stride_px)
    peak = decode(logits_of(target), sigma_px=5.0, stride_px=stride_px)
    assert peak.xy_px.distance(point) < 0.05
    assert peak.confidence == pytest.approx(1 - np.exp(-4.5), abs=0.02)


@given(across=shares, down=shares, floor=st.floats(0.0, 0.5))
@pytest.mark.parametrize("method", ["argmax", "soft-argmax", "parabola"])
def test_mirroring_the_map_mirrors_the_point(method, across, down, floor):
    # argmax is left out of ties: a point on the edge of two cells has two highest ones
    logits = logits_of(gaussian_target(inside(across, down, SIZE), SIZE), floor)
    if np.sum(logits == logits.max()) > 1:
        return
    plain = decode(logits, method=method).xy_px
    mirrored = decode(np.ascontiguousarray(logits[::-1, ::-1]), method=method).xy_px
    assert mirrored.distance(Point(SIZE.width - plain.x, SIZE.height - plain.y)) < 1e-3


@given(across=shares, down=shares, left=st.integers(0, 30), top=st.integers(0, 30))
def test_cropping_the_map_moves_the_origin(across, down, left, top):
    point = inside(across, down, Size(40, 30))
    point = Point(36 + point.x, 33 + point.y)  # within every crop, with room for the fit
    logits = logits_of(gaussian_target(point, SIZE))
    crop = logits[top : SIZE.height - 10, left : SIZE.width - 10]
    whole, part = decode(logits), decode(crop)
    assert part.xy_px.distance(Point(whole.xy_px.x - left, whole.xy_px.y - top)) < 1e-4


@given(across=shares, down=shares, factor=st.integers(2, 3))
def test_scaling_the_picture_scales_the_point(across, down, factor):
    small = Size(64, 48)
    point = inside(across, down, small)
    large = Size(small.width * factor, small.height * factor)
    target = gaussian_target(Point(point.x * factor, point.y * factor), large, 2.5 * factor)
    peak = decode(logits_of(target), sigma_px=2.5 * factor)
    assert peak.xy_px.distance(Point(point.x * factor, point.y * factor)) < 0.05 * factor


@given(across=shares, down=shares, shift=st.floats(-50.0, 50.0), sharpness=st.floats(0.3, 3.0))
def test_shift_and_sharpness_of_logits_do_not_move_the_peak(across, down, shift, sharpness):
    point = inside(across, down, SIZE, margin_px=15.0)
    logits = np.log(gaussian_target(point, SIZE) + 1e-200)
    assert decode(logits * sharpness + shift).xy_px.distance(point) < 0.05
    assert decode(logits + shift).confidence == pytest.approx(decode(logits).confidence)


@given(across=shares, down=shares)
def test_argmax_is_the_centre_of_the_cell_that_holds_the_point(across, down):
    point = inside(across, down, SIZE, margin_px=1.0)
    peak = decode(np.log(gaussian_target(point, SIZE)), method="argmax")
    assert max(abs(peak.xy_px.x - point.x), abs(peak.xy_px.y - point.y)) <= 0.5 + 1e-9
    assert peak.xy_px.x % 1 == 0.5


@given(across=shares, down=shares)
def test_soft_argmax_is_close_away_from_borders(across, down):
    point = inside(across, down, SIZE, margin_px=16.0)
    assert decode(np.log(gaussian_target(point, SIZE)), method="soft-argmax").xy_px.distance(point) < 0.05


def test_noise_averages_out_in_the_fit():
    rng = np.random.default_rng(3)
    point = Point(50.3, 40.7)
    clean = np.log(gaussian_target(point, SIZE) + 1e-9)
    errors = {
        method: np.mean(
            [decode(clean + rng.normal(0, 0.05, clean.shape), method=method).xy_px.distance(point) for _ in range(30)]
        )
        for method in ("argmax", "parabola")
    }
    assert errors["parabola"] < 0.05 < errors["argmax"]


@given(across=shares, down=shares, sigma_px=sigmas_px)
def test_target_is_a_distribution_that_peaks_at_the_point(across, down, sigma_px):
    point = inside(across, down, SIZE)
    target = gaussian_target(point, SIZE, sigma_px)
    assert target.shape == (SIZE.height, SIZE.width)
    assert target.sum() == pytest.approx(1.0)
    centres = pixel_centres(SIZE)
    highest = centres[np.unravel_index(target.argmax(), target.shape)]
    nearest = np.hypot(*(centres - [point.x, point.y]).reshape(-1, 2).T).min()
    assert np.hypot(*(highest - [point.x, point.y])) == pytest.approx(nearest, abs=1e-6)


def test_target_follows_the_papers_formula():
    target = gaussian_target(Point(30.2, 20.9), SIZE, 5.0)
    squares = ((pixel_centres(SIZE) - [30.2, 20.9]) ** 2).sum(axis=-1)
    formula = np.exp(-squares / 50)
    np.testing.assert_allclose(target, formula / formula.sum(), rtol=1e-10)


def test_a_sigma_far_below_a_cell_marks_that_cell():
    target = gaussian_target(Point(30.2, 20.9), SIZE, 0.01)
    assert target[20, 30] == 1.0
    assert target.sum() == 1.0


@pytest.mark.parametrize("point", [(-0.1, 5.0), (5.0, 97.0), (np.nan, 5.0)])
def test_a_point_outside_the_frame_is_refused(point):
    with pytest.raises(InputError, match="not inside the 112x96 px frame"):
        gaussian_target(Point(*point), SIZE)


def test_a_sigma_that_is_not_positive_is_refused():
    with pytest.raises(InputError, match="positive"):
        gaussian_target(Point(1, 1), SIZE, 0.0)


def test_centres_follow_the_convention():
    np.testing.assert_array_equal(axis_centres(3), [0.5, 1.5, 2.5])
    np.testing.assert_array_equal(pixel_centres(Size(2, 1), stride_px=2.0), [[[1.0, 1.0], [3.0, 1.0]]])


def test_divergence_matches_its_definition():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(3, 8, 9))
    target = rng.dirichlet(np.ones(72), size=3).reshape(3, 8, 9)
    probability = np.exp(logits) / np.exp(logits).sum(axis=(1, 2), keepdims=True)
    expected = (target * np.log(target / probability)).sum(axis=(1, 2)).mean()
    assert kl_divergence(logits, target) == pytest.approx(expected)
    assert kl_divergence(logits[0], target[0]) != pytest.approx(expected)


@given(across=shares, down=shares, sigma_px=sigmas_px)
def test_divergence_is_zero_for_the_target_itself_and_positive_otherwise(across, down, sigma_px):
    target = gaussian_target(inside(across, down, SIZE), SIZE, sigma_px)
    assert kl_divergence(np.log(target + 1e-300), target) == pytest.approx(0.0, abs=1e-9)
    assert kl_divergence(np.zeros_like(target), target) > 0.1


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_divergence_is_finite_on_saturated_maps(dtype):
    logits = np.full((20, 30), -3e4, dtype=dtype)
    logits[0, 0] = 3e4
    value = kl_divergence(logits, gaussian_target(Point(25.0, 15.0), Size(30, 20)))
    assert value == pytest.approx(6e4, rel=1e-3)


@pytest.mark.usefixtures("without_shape_checks")
def test_divergence_needs_equal_shapes():
    with pytest.raises(ShapeError, match="same shape"):
        kl_divergence(np.zeros((2, 3, 4)), np.zeros((3, 4)))


@given(across=shares, down=shares)
def test_confidence_is_the_mass_within_three_sigma(across, down):
    point = inside(across, down, SIZE, margin_px=16.0)
    probability = 0.7 * gaussian_target(point, SIZE) + 0.3 / (SIZE.width * SIZE.height)
    distances = np.hypot(*(pixel_centres(SIZE) - [point.x, point.y]).reshape(-1, 2).T)
    brute = probability.ravel()[distances <= 15.0].sum()
    peak = decode(np.log(probability))
    assert peak.confidence == pytest.approx(brute, abs=2e-3)
    assert peak.height == pytest.approx(probability.max())


def test_confidence_of_a_flat_map_is_the_share_of_its_area():
    peak = decode(np.zeros((96, 112), dtype=np.float32))
    assert 0 < peak.confidence < np.pi * 15**2 / (96 * 112) + 0.005


def test_saturated_and_masked_maps_decode_to_their_cell():
    logits = np.full((20, 30), -np.inf)
    logits[7, 11] = 5.0
    assert decode(logits).xy_px == Point(11.5, 7.5)
    assert decode(logits).confidence == 1.0
    logits = np.zeros((20, 30), dtype=np.float32)
    logits[7, 11] = 400.0
    assert decode(logits).xy_px.distance(Point(11.5, 7.5)) < 1e-6


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (2, 2), (9, 1)])
def test_maps_too_small_for_a_fit_still_decode(shape):
    logits = np.zeros(shape)
    logits[-1, -1] = 1.0
    peak = decode(logits)
    assert 0 <= peak.xy_px.x <= shape[1]
    assert 0 <= peak.xy_px.y <= shape[0]


@pytest.mark.usefixtures("without_shape_checks")
def test_broken_maps_and_unknown_methods_are_refused():
    with pytest.raises(InputError, match="NaN"):
        decode(np.full((4, 4), np.nan))
    with pytest.raises(InputError, match="argmax, soft-argmax, parabola"):
        decode(np.zeros((4, 4)), method="centre")  # type: ignore[arg-type]


def test_top_peaks_are_found_in_order_and_apart():
    places = [(Point(20.3, 20.6), 0.5), (Point(80.1, 30.4), 0.3), (Point(41.7, 70.2), 0.2)]
    probability = sum(share * gaussian_target(point, SIZE) for point, share in places)
    peaks = top_peaks(np.log(probability).astype(np.float32), count=3)
    for peak, (point, share) in zip(peaks, places, strict=True):
        assert peak.xy_px.distance(point) < 0.05
        assert peak.confidence == pytest.approx(share, abs=0.02)
    assert peaks[0] == decode(np.log(probability).astype(np.float32))


def test_a_second_puck_four_sigma_away_is_a_peak_of_its_own():
    probability = 0.8 * gaussian_target(Point(50.0, 50.0), SIZE) + 0.2 * gaussian_target(Point(70.0, 50.0), SIZE)
    first, second = top_peaks(np.log(probability), count=4)
    assert first.xy_px.distance(Point(50, 50)) < 0.5
    assert second.xy_px.distance(Point(70, 50)) < 1.0


def test_the_shoulder_of_a_peak_is_no_peak():
    assert len(top_peaks(np.log(gaussian_target(Point(50.2, 50.9), SIZE)), count=5)) == 1


def test_peaks_of_noise_keep_their_distance():
    peaks = top_peaks(np.random.default_rng(1).normal(size=(96, 112)), count=8, method="argmax")
    assert len(peaks) == 8
    gaps = [a.xy_px.distance(b.xy_px) for n, a in enumerate(peaks) for b in peaks[:n]]
    assert min(gaps) >= 15


def test_half_precision_maps_have_peaks_too():
    logits = np.log(gaussian_target(Point(50.2, 50.9), SIZE) + 1e-4).astype(np.float16)
    assert top_peaks(logits, count=1)[0].xy_px.distance(Point(50.2, 50.9)) < 0.5
