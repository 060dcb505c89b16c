"""Which fits to believe: enough of the rink in view, where it should be, seen from where a main camera stands."""

import numpy as np

from plucc.rink.alignment import Alignment
from plucc.rink.pose import ground_covariance
from plucc.rink.prior import CameraPrior
from plucc.rink.sheet import Sheet
from plucc.rink.template import Look
from plucc.types import FloatArray

LEAST_SUPPORT = 0.4  # log-likelihood ratio for every pixel of outline in view
LEAST_SUPPORT_PX = 2000.0  # the same in all: few lines may fit by chance
LEAST_KINDS = 2  # of lines that are found; parallel lines alone leave the camera free to slide
KIND_LENGTH_PX = 80.0
LEAST_SURE = 0.4  # share that must be found of what always shows
LARGEST_ERROR_M = 0.5  # one sigma on the ice, where the picture shows it
FARTHEST_SIGMAS = 3.3
PROBES = (7, 5)


def refusal(found: Alignment, sheet: Sheet, prior: CameraPrior) -> str:
    """Return why a fit is not to be trusted; empty where it is."""
    near_px, length_px = found.by_look.T
    if (near_px > KIND_LENGTH_PX).sum() < LEAST_KINDS or length_px.sum() < LEAST_SUPPORT_PX:
        return "too few lines in view: a close-up, or a view along the boards"
    if found.support_px < LEAST_SUPPORT * found.length_px or found.support_px < LEAST_SUPPORT_PX:
        return "the lines in view do not fit the rink: another camera, a replay, or lines too faint"
    if _contradicts(near_px, length_px):
        return "the foot of the boards or a blue line is missing where it should be"
    if prior.distance(found.camera) > FARTHEST_SIGMAS:
        return "the view fits only from where no main camera stands"
    if _error_m(found, sheet) > LARGEST_ERROR_M:
        return "the lines in view leave the camera too free"
    return ""


def _contradicts(near_px: FloatArray, length_px: FloatArray) -> bool:
    """Tell whether something that always shows is not there."""
    sure = [Look.BLUE_BAND, Look.KICK_PLATE]
    return bool(((length_px[sure] > 4 * KIND_LENGTH_PX) & (near_px[sure] < LEAST_SURE * length_px[sure])).any())


def _error_m(found: Alignment, sheet: Sheet) -> float:
    """Return the one-sigma radius on the ice that the pose alone leaves, averaged over the part of the rink in view."""
    size = found.camera.size
    across, down = ((np.arange(count) + 0.5) / count for count in PROBES)
    places = np.stack(np.meshgrid(across * size.width, down * size.height), axis=-1).reshape(-1, 2)
    on_ice = places[sheet.contains(found.camera.back_project(places))]
    if len(on_ice) == 0:
        return float("inf")
    spread = ground_covariance(found.camera, on_ice, np.zeros((2, 2)), pose_covariance=found.covariance)
    return float(np.sqrt(np.trace(spread, axis1=1, axis2=2) / 2).mean())
