"""Settings that all tests share."""

from pathlib import Path

import pytest
from hypothesis import settings

# machines that run tests are shared, so the time of a single example says nothing about the code
settings.register_profile("repeatable", deadline=None, derandomize=True)  # the same code, the same verdict
settings.register_profile("exploring", deadline=None, max_examples=1000)  # looks for what nobody has seen fail yet
settings.load_profile("repeatable")


@pytest.fixture
def without_shape_checks(request: pytest.FixtureRequest) -> None:
    """Skip where annotations are enforced: they refuse a wrong shape before our own sentence about it can."""
    if request.config.getoption("--jaxtyping-packages", default=None):
        pytest.skip("annotations are enforced in this run")


@pytest.fixture(scope="session")
def small_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a small network of swift's kind with settled normalisation statistics, as after training."""
    torch = pytest.importorskip("torch")
    from plucc.config import load_preset
    from plucc.network.checkpoint import save_checkpoint
    from plucc.network.plucc import build_plucc

    spec = load_preset(
        "swift",
        [
            "network.frame={kind: pyramid, stem: {width: 16}, "
            "stages: [{width: 8, depth: 1}, {width: 12, depth: 1}, {width: 16, depth: 1}]}",
            "network.context.stages=[{width: 8, depth: 1}, {width: 8, depth: 1}]",
            "network.fused_strides=[8, 16]",
            "network.decoder_widths=[16, 12, 8]",
            "data.datasets=[/home/somebody/rink-a]",
            "data.test_matches=[g4]",
        ],
    )
    torch.manual_seed(3)
    network = build_plucc(spec.network).train()
    with torch.no_grad():
        for _ in range(20):
            network(torch.randn(2, 3, 96, 128), torch.randn(2, 3, 48, 64))
    path = tmp_path_factory.mktemp("models") / "small.ckpt"
    save_checkpoint(path, network, spec, {"mAP": 81.5, "calibration": {"temperature": 2.0}})
    return path


@pytest.fixture(scope="session")
def small_model(small_checkpoint: Path) -> Path:
    """Return that network as an exported model; exporting takes seconds, so it happens once."""
    from plucc.export import export_checkpoint

    path = small_checkpoint.with_suffix(".onnx")
    export_checkpoint(small_checkpoint, path)
    return path
