"""What is done to a graph before OpenVINO compiles it."""

from typing import Any

import numpy as np
import pytest

openvino = pytest.importorskip("openvino")

from plucc.runtime.openvino import _fold_squares  # noqa: E402


def graph(order: list[int], side_px: int, *, rows: int = 4, columns: int = 6, channels: int = 3) -> Any:
    """Squares of pixels into channels, the way exporters write it; `order` is that of the transpose."""
    ops = openvino.opset8
    picture = ops.parameter([1, channels, rows * side_px, columns * side_px], np.float32, name="picture")
    cells = ops.reshape(picture, [1, channels, rows, side_px, columns, side_px], special_zero=False)
    moved = ops.transpose(cells, order)
    return openvino.Model(
        [ops.reshape(moved, [1, channels * side_px**2, rows, columns], special_zero=False)], [picture]
    )


def kinds(model: Any) -> list[str]:
    return [operation.get_type_name() for operation in model.get_ordered_ops()]


def answer(model: Any, picture: np.ndarray) -> np.ndarray:
    return np.asarray(openvino.Core().compile_model(model, "CPU")([picture])[0])


@pytest.mark.parametrize("side_px", [2, 3])
def test_squares_of_pixels_are_folded_at_once(side_px: int) -> None:
    model = graph([0, 1, 3, 5, 2, 4], side_px)
    picture = np.random.default_rng(side_px).normal(size=(1, 3, 4 * side_px, 6 * side_px)).astype(np.float32)
    plain = answer(model, picture)
    _fold_squares(model)
    assert "SpaceToDepth" in kinds(model)
    assert "Transpose" not in kinds(model)
    np.testing.assert_array_equal(answer(model, picture), plain)


@pytest.mark.parametrize("order", [[0, 3, 5, 1, 2, 4], [0, 1, 5, 3, 2, 4]], ids=["blocks first", "turned"])
def test_other_orders_are_left_alone(order: list[int]) -> None:
    model = graph(order, 2)
    _fold_squares(model)
    assert "SpaceToDepth" not in kinds(model)


def test_a_transpose_that_others_read_too_is_left_alone() -> None:
    ops = openvino.opset8
    picture = ops.parameter([1, 2, 4, 4], np.float32)
    moved = ops.transpose(ops.reshape(picture, [1, 2, 2, 2, 2, 2], special_zero=False), [0, 1, 3, 5, 2, 4])
    model = openvino.Model([ops.reshape(moved, [1, 8, 2, 2], special_zero=False), moved], [picture])
    _fold_squares(model)
    assert "SpaceToDepth" not in kinds(model)
