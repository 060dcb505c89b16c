"""Which sheet a game is played on, told from its frames: every standard is fitted, the best supported one wins."""

from collections.abc import Iterable, Sequence

import numpy as np

from plucc.register.gate import LEAST_SUPPORT, LEAST_SUPPORT_PX
from plucc.register.registrar import Registrar
from plucc.rink.alignment import Alignment, align
from plucc.rink.evidence import Evidence
from plucc.rink.sheet import Sheet, iihf, ncaa, nhl, nhl_pre2014
from plucc.rink.template import Template, template
from plucc.types import FloatArray, InputError

STEP_M = 0.5
IIHF_WIDTHS_M = (26.0, 27.0, 28.0, 28.5, 29.0, 29.5, 30.0)


def candidates() -> list[Sheet]:
    """Return the sheets to choose from."""
    return [nhl(), nhl_pre2014(), ncaa(), *(iihf(width) for width in IIHF_WIDTHS_M)]


def find_sheet(evidence: Iterable[Evidence]) -> Sheet:
    """Return the sheet whose lines the frames show best, in all; frames that no sheet explains do not count."""
    # two lengths and two blue lines; from these every other standard is within reach of a fit
    registrars = [Registrar(nhl()), Registrar(iihf(29.0))]
    sheets = candidates()
    samples = [template(sheet, STEP_M) for sheet in sheets]
    support = np.zeros(len(sheets))
    for one in evidence:
        support += _support(one, registrars, list(zip(sheets, samples, strict=True)))
    if not support.any():
        raise InputError("no frame shows enough of a rink to tell its standard: name it with --rink")
    return sheets[int(support.argmax())]


def _support(one: Evidence, registrars: Sequence[Registrar], sheets: Sequence[tuple[Sheet, Template]]) -> FloatArray:
    """Return how much a frame speaks for each sheet; nothing for any where none explains it."""
    found = [fit for registrar in registrars if (fit := registrar.search(one)) is not None]
    start = max(found, key=lambda fit: fit.support_px, default=None)
    if start is None:
        return np.zeros(len(sheets))
    prior = registrars[0].prior
    fits = [align(one, samples, sheet, start.camera, prior) for sheet, samples in sheets]
    if not any(_explains(fit) for fit in fits):
        return np.zeros(len(sheets))
    return np.array([0.0 if fit is None else max(0.0, fit.support_px) for fit in fits])


def _explains(fit: Alignment | None) -> bool:
    return fit is not None and fit.support_px > max(LEAST_SUPPORT_PX, LEAST_SUPPORT * fit.length_px)
