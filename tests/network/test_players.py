import numpy as np
import pytest

from plucc.types import Size

torch = pytest.importorskip("torch")

from plucc.network.players import PlayerNet, PlayerNetSpec  # noqa: E402

SMALL = PlayerNetSpec(size=Size(64, 64))


def test_one_logit_for_each_pixel() -> None:
    frames = torch.zeros(2, 64, 96, 3, dtype=torch.uint8)
    assert PlayerNet(SMALL)(frames).shape == (2, 64, 96)


def test_cells_hold_the_same_logits() -> None:
    net = PlayerNet(SMALL).eval()
    frames = torch.from_numpy(np.random.default_rng(0).integers(0, 256, (1, 64, 64, 3), np.uint8))
    with torch.inference_mode():
        logits, cells = net(frames), net.cells(frames)
    for number, (row, column) in enumerate(((0, 0), (0, 1), (1, 0), (1, 1))):
        torch.testing.assert_close(cells[:, number], logits[:, row::2, column::2])


def test_it_stays_within_four_megabytes() -> None:
    net = PlayerNet(PlayerNetSpec())
    assert 4 * sum(parameter.numel() for parameter in net.parameters()) < 4e6
    assert net.spec.size.width % net.spec.stride == net.spec.size.height % net.spec.stride == 0


def test_every_weight_learns() -> None:
    torch.manual_seed(0)
    net = PlayerNet(SMALL)
    frames = torch.from_numpy(np.random.default_rng(0).integers(0, 256, (2, 64, 64, 3), np.uint8))
    net(frames).square().mean().backward()
    assert all(parameter.grad is not None and parameter.grad.abs().sum() > 0 for parameter in net.parameters())


def test_the_corner_hears_of_the_opposite_corner() -> None:
    """Stands and benches are told from the ice by the whole picture, so the whole picture must count."""
    torch.manual_seed(0)
    net = PlayerNet(PlayerNetSpec()).eval()
    frame = torch.full((1, 288, 512, 3), 128, dtype=torch.uint8)
    other = frame.clone()
    other[:, 150:, 260:] = 0
    with torch.inference_mode():
        assert (net(frame) - net(other))[0, :60, :60].abs().max() > 0
