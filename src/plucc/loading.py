"""Which files look for the puck together, and how they are loaded."""

from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from plucc.calibration import Calibration
from plucc.runtime.base import Runtime
from plucc.runtime.load import Backend, load_runtime, read_model_card
from plucc.runtime.second_card import read_second_card
from plucc.second_look import SecondLook, second_look_file, second_opinion_file

SHIPPED_MODEL = Path(__file__).parent / "weights" / "swift.onnx"
NAMED_MODELS = {"shipped": SHIPPED_MODEL, "swift-l": SHIPPED_MODEL.with_name("swift-l.onnx")}

Judge: TypeAlias = Calibration | SecondLook


@dataclass(frozen=True, slots=True)
class Models:
    """The files of the networks that look for the puck, and what runs them."""

    first: Path
    second: Path | None = None
    opinion: Path | None = None
    backend: Backend = "auto"


@dataclass(frozen=True, slots=True)
class Networks:
    """A puck network, what says how sure its places are, and another one that is asked where those are unsure."""

    first: Runtime
    judge: Judge
    opinion: Runtime | None = None


def model_file(name: Path | str) -> Path:
    """Return the file of a model that ships under this name, or else the path that the name is."""
    return NAMED_MODELS.get(str(name), Path(name))


def companions(model: Path, backend: Backend = "auto") -> Models:
    """Return a puck model's file with those that its card names; files of another kind are refused."""
    card = read_model_card(model)
    second, opinion = second_look_file(model, card), second_opinion_file(model, card)
    if second is not None:
        read_second_card(second)
    if opinion is not None:
        read_model_card(opinion)
    return Models(model, second, opinion, backend)


def load_networks(models: Models, *, threads: int | None = None, at_once: int = 1, device: str = "cpu") -> Networks:
    """Load the networks of files; without a second look, the model's own calibration says how sure it is."""

    def runtime(path: Path) -> Runtime:
        return load_runtime(path, backend=models.backend, threads=threads, at_once=at_once, device=device)

    first = runtime(models.first)
    judge: Judge = (
        Calibration.from_card(first.card.calibration)
        if models.second is None
        else SecondLook(models.second, backend=models.backend, threads=threads, at_once=at_once, device=device)
    )
    return Networks(first, judge, None if models.opinion is None else runtime(models.opinion))
