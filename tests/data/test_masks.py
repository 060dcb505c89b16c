import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from pycocotools import mask as reference

from plucc.data.masks import (
    Rle,
    compress_counts,
    decode_mask,
    encode_mask,
    expand_counts,
    mask_area,
    mask_box,
    mask_from_runs,
    polygon_mask,
    run_lengths,
)
from plucc.types import Box, DataError, Size

# pycocotools' own array wrapper is older than numpy 2
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

masks = arrays(bool, array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=40))


@given(mask=masks)
def test_text_is_the_one_of_pycocotools(mask):
    expected = reference.encode(np.asfortranarray(mask.astype(np.uint8)))
    assert encode_mask(mask) == Rle(mask.shape, expected["counts"].decode())


@given(mask=masks)
def test_masks_round_trip(mask):
    rle = encode_mask(mask)
    np.testing.assert_array_equal(decode_mask(rle), mask)
    assert mask_area(rle) == mask.sum()


@given(counts=st.lists(st.integers(0, 2**31), min_size=1, max_size=30))
def test_any_run_lengths_round_trip(counts):
    array = np.array(counts, dtype=np.int64)
    assert expand_counts(compress_counts(array)).tolist() == counts


@given(mask=masks)
def test_uncompressed_runs_are_read_as_pycocotools_reads_them(mask):
    height, width = mask.shape
    counts = run_lengths(mask)
    packed = reference.frPyObjects({"size": [height, width], "counts": counts.tolist()}, height, width)
    np.testing.assert_array_equal(reference.decode(packed).astype(bool), mask)
    np.testing.assert_array_equal(mask_from_runs(counts, (height, width)), mask)


@pytest.mark.parametrize("counts", ["\x1f", "~~", "é", "P" * 3, "o" * 12 + "0"])
def test_text_that_is_no_run_lengths_is_refused(counts):
    with pytest.raises(DataError):
        expand_counts(counts)


@pytest.mark.parametrize("counts", [[3, 2], [10, -1, 0], [0, 11]])
def test_runs_must_fill_the_picture(counts):
    with pytest.raises(DataError, match="expected 9"):
        mask_from_runs(np.array(counts, dtype=np.int64), (3, 3))


def test_only_planes_are_encoded():
    with pytest.raises(DataError, match="height, width"):
        encode_mask(np.zeros((3, 4, 2), dtype=bool))


def test_polygon_on_pixel_edges_is_exact():
    square = np.array([[1, 2], [4, 2], [4, 5], [1, 5]], dtype=float)
    expected = np.zeros((8, 8), dtype=bool)
    expected[2:5, 1:4] = True
    np.testing.assert_array_equal(polygon_mask([square], Size(8, 8)), expected)


def test_polygons_are_united_and_their_holes_kept():
    outer = np.array([[0, 0], [9, 0], [9, 9], [0, 9], [0, 0], [3, 3], [3, 6], [6, 6], [6, 3], [3, 3]], dtype=float)
    corner = np.array([[3, 3], [4, 3], [4, 4], [3, 4]], dtype=float)
    mask = polygon_mask([outer, corner], Size(10, 10))
    assert mask.sum() == 81 - 9 + 1
    assert mask[3, 3]
    assert not mask[5, 5]


def test_a_polygon_beyond_the_frame_is_cut():
    mask = polygon_mask([np.array([[-5, -5], [3, -5], [3, 20], [-5, 20]], dtype=float)], Size(6, 4))
    assert mask[:, :3].all()
    assert not mask[:, 3:].any()


def inside_by_definition(polygon, x, y):
    """Even-odd rule, one point at a time."""
    inside = False
    for (x0, y0), (x1, y1) in zip(polygon, np.roll(polygon, -1, axis=0), strict=True):
        if (y0 > y) != (y1 > y) and x > x0 + (y - y0) * (x1 - x0) / (y1 - y0):
            inside = not inside
    return inside


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), corners=st.integers(3, 8))
def test_polygons_hold_the_pixels_with_their_centre_inside(seed, corners):
    points = np.random.default_rng(seed).uniform(-3, 15, (corners, 2))  # drawn so that no edge meets a pixel's centre
    mask = polygon_mask([points], Size(12, 10))
    expected = [[inside_by_definition(points, x + 0.5, y + 0.5) for x in range(12)] for y in range(10)]
    np.testing.assert_array_equal(mask, np.array(expected))


def test_a_player_outline_agrees_with_pycocotools():
    angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    outline = np.stack((300 + (40 + 8 * np.cos(5 * angle)) * np.cos(angle), 200 + 90 * np.sin(angle)), axis=1)
    packed = reference.merge(reference.frPyObjects([outline.ravel().tolist()], 400, 600))
    theirs, ours = reference.decode(packed).astype(bool), polygon_mask([outline], Size(600, 400))
    assert (theirs & ours).sum() / (theirs | ours).sum() > 0.98


def test_box_of_a_mask_is_tight():
    mask = np.zeros((10, 20), dtype=bool)
    mask[3:7, 5:6] = True
    assert mask_box(mask) == Box(5, 3, 6, 7)
    assert mask_box(np.zeros((4, 4), dtype=bool)) is None
