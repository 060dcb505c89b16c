"""Which sheet a game is played on, told from its frames: every standard is fitted, the best supported one wins."""

from collections.abc import Iterable

from plucc.register.registrar import Registrar
from plucc.rink.alignment import align
from plucc.rink.evidence import Evidence
from plucc.rink.sheet import Sheet, iihf, ncaa, nhl, nhl_pre2014
from plucc.rink.template import template
from plucc.types import InputError

STEP_M = 0.5
IIHF_WIDTHS_M = (26.0, 27.0, 28.0, 28.5, 29.0, 29.5, 30.0)


def candidates() -> list[Sheet]:
    """Return the sheets to choose from."""
    return [nhl(), nhl_pre2014(), ncaa(), *(iihf(width) for width in IIHF_WIDTHS_M)]


def find_sheet(evidence: Iterable[Evidence]) -> Sheet:
    """Return the sheet whose lines the frames show best, in all."""
    # two lengths and two blue lines; from these every other standard is within reach of a fit
    registrars = [Registrar(nhl()), Registrar(iihf(29.0))]
    sheets = candidates()
    samples = [template(sheet, STEP_M) for sheet in sheets]
    support = [0.0] * len(sheets)
    for one in evidence:
        found = [fit for registrar in registrars if (fit := registrar.search(one)) is not None]
        start = max(found, key=lambda fit: fit.support_px, default=None)
        if start is None:
            continue
        for index, sheet in enumerate(sheets):
            fit = align(one, samples[index], sheet, start.camera, registrars[0].prior)
            support[index] += max(0.0, 0.0 if fit is None else fit.support_px)
    if not any(support):
        raise InputError("no frame shows enough of a rink to tell its standard: name it with --rink")
    return sheets[max(range(len(sheets)), key=lambda index: support[index])]
