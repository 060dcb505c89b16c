"""The objective against the numpy formulas, against hand-computed cases, and in the corners."""

from math import log

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from plucc.heatmap import gaussian_target, kl_divergence
from plucc.training.objective import NOWHERE_LOGIT, Objective, background_loss, heatmap_kl
from plucc.types import Point, Size

NOWHERE = (float("nan"), float("nan"))


@settings(max_examples=25, deadline=None)
@given(
    x=st.floats(0, 64),
    y=st.floats(0, 48),
    sigma=st.floats(0.8, 6),
    stride=st.sampled_from([1, 2, 4]),
    seed=st.integers(0, 9),
)
def test_kl_is_the_one_of_the_heatmap_room(x: float, y: float, sigma: float, stride: int, seed: int) -> None:
    size = Size(64 // stride, 48 // stride)
    logits = 3 * np.random.default_rng(seed).standard_normal((size.height, size.width))
    target = gaussian_target(Point(x, y), size, sigma, stride_px=stride)
    ours = heatmap_kl(torch.from_numpy(logits)[None, None], torch.tensor([[x, y]]), sigma, stride)
    assert float(ours) == pytest.approx(kl_divergence(logits, target), rel=1e-4, abs=1e-4)


def test_kl_of_the_target_itself_is_zero_and_its_gradient_vanishes() -> None:
    target = gaussian_target(Point(11.3, 7.9), Size(24, 16), 2.0)
    logits = torch.from_numpy(np.log(target)).float()[None, None].requires_grad_()
    loss = heatmap_kl(logits, torch.tensor([[11.3, 7.9]]), 2.0, 1.0).sum()
    loss.backward()
    assert loss.item() == pytest.approx(0.0, abs=1e-5)
    assert logits.grad is not None
    assert float(logits.grad.abs().max()) < 1e-5


def test_saturated_half_precision_logits_stay_finite() -> None:
    logits = torch.full((1, 1, 16, 16), -6e4, dtype=torch.float16)
    logits[0, 0, 3, 3] = 6e4
    assert torch.isfinite(heatmap_kl(logits, torch.tensor([[12.0, 12.0]]), 1.0, 1.0)).all()


def test_gradients_agree_with_finite_differences() -> None:
    logits = torch.randn(2, 1, 6, 5, dtype=torch.float64, requires_grad=True)
    points = torch.tensor([[2.2, 3.1], [4.9, 0.3]])
    weights = torch.tensor([1.0, 2.0])

    def loss(values: torch.Tensor) -> torch.Tensor:
        return (heatmap_kl(values, points, 1.5, 1.0).double() * weights).sum()

    assert torch.autograd.gradcheck(loss, (logits,), eps=1e-2, atol=2e-3)  # the objective computes in float32


def test_frames_without_a_puck_enter_presence_but_not_the_heatmap() -> None:
    logits = torch.randn(2, 1, 8, 8, requires_grad=True)
    presence = torch.zeros(2, requires_grad=True)
    points = torch.tensor([[4.0, 4.0], NOWHERE])
    losses = Objective(2.0, 1.0)(logits, presence, points, torch.tensor([1.0, 0.0]))
    losses.total.backward()
    assert logits.grad is not None
    assert presence.grad is not None
    assert logits.grad[0].abs().sum() > 0
    assert logits.grad[1].abs().sum() == 0
    np.testing.assert_allclose(presence.grad.numpy(), [-0.25, 0.25])
    assert losses.presence.item() == pytest.approx(log(2))


def test_batch_without_any_puck_has_a_finite_loss_and_gradient() -> None:
    logits = torch.randn(3, 1, 8, 8, requires_grad=True)
    losses = Objective(2.0, 1.0)(logits, None, torch.tensor([NOWHERE] * 3), torch.zeros(3))
    losses.total.backward()
    assert losses.total.item() == 0
    assert logits.grad is not None


def test_a_sample_weighs_the_same_in_any_batch() -> None:
    logits = torch.randn(4, 1, 8, 8)
    points = torch.tensor([[4.0, 4.0], NOWHERE, [1.0, 2.0], [6.0, 6.0]])
    present = torch.tensor([1.0, 0.0, 1.0, 1.0])
    presence = torch.randn(4)
    objective = Objective(2.0, 1.0, presence_weight=0.5, background_weight=0.3)
    whole = objective(logits, presence, points, present).total
    halves = [
        objective(logits[part], presence[part], points[part], present[part]).total for part in (slice(2), slice(2, 4))
    ]
    assert float(whole) == pytest.approx(float(sum(halves)) / 2, rel=1e-6)


def test_background_compares_the_sum_over_cells_with_nowhere() -> None:
    logits = torch.full((2, 1, 4, 4), NOWHERE_LOGIT - log(16))  # as much mass somewhere as nowhere
    losses = background_loss(logits, torch.tensor([True, False]))
    np.testing.assert_allclose(losses.numpy(), [log(2), log(2)], rtol=1e-5)


def test_hidden_puck_teaches_the_heatmap_and_counts_as_absent() -> None:
    objective = Objective(2.0, 1.0, background_weight=1.0)
    losses = objective(torch.zeros(1, 1, 8, 8), torch.zeros(1), torch.tensor([[4.0, 4.0]]), torch.zeros(1))
    assert float(losses.heatmap) > 0
    assert losses.presence.item() == pytest.approx(log(2))
    assert float(losses.background) == 0
