"""A match that the renderer's tests share; painting its arena takes longer than a frame."""

import pytest

from plucc.synth.arena import Stage, build_stage
from plucc.synth.match import sample_match
from plucc.types import Size


@pytest.fixture(scope="session")
def stage() -> Stage:
    return build_stage(sample_match(5, 0))


@pytest.fixture(scope="session")
def size() -> Size:
    return Size(640, 360)
