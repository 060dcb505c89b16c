"""The second look: a small network that looks closely at the few places where the first thinks the puck may be."""

from pathlib import Path

import numpy as np

from plucc.patches import patches_around
from plucc.runtime.card import ModelCard
from plucc.runtime.load import Backend, load_graph
from plucc.runtime.second_card import read_second_card
from plucc.types import FloatArray, ImageArray, ModelError, Size
from plucc.weighing import Evidence, Weighing

PLACES = 8  # of the first look: the puck is hardly ever further down its list
PART_PLACES = 4  # the same for a part of a frame, which has fewer of everything
BATCH = 2
SETTLED_FROM = 0.95  # of a place's probability: on held-out frames no place further down ever overturned one
INPUT = "patches"


class SecondLook:
    """A loaded second look, and how its word is weighed against the first one's."""

    def __init__(
        self,
        path: Path,
        *,
        backend: Backend = "auto",
        threads: int | None = None,
        at_once: int = 1,
        device: str = "cpu",
    ) -> None:
        self.path = path
        self.card = read_second_card(path)
        self.weighing = Weighing.from_card(self.card.weighing)
        self._graph = load_graph(path, backend=backend, threads=threads, at_once=at_once, device=device)

    def __call__(self, image: ImageArray, places_px: FloatArray, zoom: float = 1.0) -> FloatArray:
        """Return a logit for each place (k, 2) of an RGB frame, in its own pixels: high where the puck shows there.

        With a `zoom` the frame is taken to be so many times larger.
        """
        spec = self.card.spec
        scale = zoom * Size(image.shape[1], image.shape[0]).reference_scale
        patches = patches_around(image, places_px, spec.windows_px, spec.side_px, scale=scale)
        # always as many at once: a graph that is compiled for its input's size is compiled only once
        batches = [patches[start : start + BATCH] for start in range(0, len(patches), BATCH)]
        logits = [self._graph({INPUT: _filled(batch)})[0][: len(batch)] for batch in batches]
        return np.concatenate(logits).astype(np.float64) if logits else np.empty(0)

    def evidence(
        self, image: ImageArray, places_px: FloatArray, shares: FloatArray, presence_logit: float, zoom: float = 1.0
    ) -> Evidence:
        """Look at the first look's places, likeliest first, until one is settled; return what is known of those.

        A second look whose weighing was never fitted cannot tell what is settled, and looks at all of them.
        """
        logits = np.empty(0)
        while True:
            known = slice(len(logits))
            evidence = Evidence(places_px[known], shares[known], logits, presence_logit)
            if len(logits) == len(places_px) or self._is_settled(evidence):
                return evidence
            logits = np.append(logits, self(image, places_px[len(logits) : len(logits) + BATCH], zoom))

    def _is_settled(self, evidence: Evidence) -> bool:
        return bool(self.card.weighing) and self.weighing(evidence).max(initial=0.0) >= SETTLED_FROM


def second_look_file(model: Path, card: ModelCard) -> Path | None:
    """Return where the second look of a puck model is; None where its card names none."""
    return _beside(model, card.second_look, "second look")


def second_opinion_file(model: Path, card: ModelCard) -> Path | None:
    """Return where the other puck network is that a puck model is helped by; None where its card names none."""
    return _beside(model, card.second_opinion, "second opinion")


def _beside(model: Path, name: str | None, role: str) -> Path | None:
    if name is None:
        return None
    path = model.parent / name
    if not path.is_file():
        raise ModelError(f"{model} names {name} as its {role}, which is not beside it: put it there")
    return path


def _filled(batch: ImageArray) -> ImageArray:
    missing = BATCH - len(batch)
    return np.pad(batch, [(0, missing), *[(0, 0)] * (batch.ndim - 1)]) if missing else np.ascontiguousarray(batch)
