"""Settings that all tests share."""

import pytest
from hypothesis import settings

# machines that run tests are shared, so the time of a single example says nothing about the code
settings.register_profile("shared-machine", deadline=None)
settings.load_profile("shared-machine")


@pytest.fixture
def without_shape_checks(request: pytest.FixtureRequest) -> None:
    """Skip where annotations are enforced: they refuse a wrong shape before our own sentence about it can."""
    if request.config.getoption("--jaxtyping-packages", default=None):
        pytest.skip("annotations are enforced in this run")
