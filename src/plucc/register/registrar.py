"""Frame by frame through a video: search where nothing is known, follow where the frame before was found."""

from dataclasses import replace

import numpy as np

from plucc.motion import camera_motion, small_grey
from plucc.register.carry import carried
from plucc.register.game import GameCamera
from plucc.register.gate import refusal
from plucc.register.registration import How, Registration, refused
from plucc.rink.alignment import ROUGH_REACHES_PX, WARM_REACHES_PX, Alignment, align
from plucc.rink.evidence import Evidence, read_evidence, working_size
from plucc.rink.prior import BROADCAST, CameraPrior
from plucc.rink.search import Dictionary, search
from plucc.rink.sheet import Sheet
from plucc.rink.template import template
from plucc.rink.views import camera_of
from plucc.types import FloatArray, ImageArray, MaskArray, ShapeError, Size

STEP_M, ROUGH_STEP_M = 0.35, 0.8
FINALISTS = 3
POLISHES, POLISH_GAIN = 3, 0.02  # how often to fit again, and the support a pixel that makes it worth while
MOST_CARRIED = 12  # frames: half a second, after which drift is no longer known
LONGEST_WAIT = 24  # frames between two searches in a shot that did not register
NO_ICE = "no ice: a crowd shot, a close-up or a blank picture"
NO_VIEW = "no view of the rink explains the lines"
FOCAL = 6  # of plucc.rink.pose.PARAMETERS, the only one in pixels


class Registrar:
    """Registers the frames of one video, in order; or single pictures, each with `is_cut`.

    Without a game's camera every shot starts from a search over all places where a broadcast camera may stand. Within
    a shot a frame starts from the one before, moved along with the picture; where its lines are not seen well enough
    it is carried along for a short while. A shot that does not register is searched again now and then only.
    """

    def __init__(self, sheet: Sheet, camera: GameCamera | None = None, *, seed: int = 0) -> None:
        self.sheet = sheet
        self.prior: CameraPrior = BROADCAST if camera is None else camera.prior
        self._samples, self._rough = template(sheet, STEP_M), template(sheet, ROUGH_STEP_M)
        self._seed = seed
        self._dictionary: Dictionary | None = None
        self._before: Alignment | None = None
        self._grey: ImageArray | None = None
        self._carried, self._wait, self._next_wait = 0, 0, 1
        self._last_reason = ""

    def frame(self, image: ImageArray, player_mask: MaskArray, *, is_cut: bool) -> Registration:
        """Register an RGB frame; `player_mask` is where players hide the ice, in the frame's own pixels."""
        if player_mask.shape != image.shape[:2]:
            raise ShapeError(
                f"a player mask of shape {player_mask.shape} for a frame of {image.shape[:2]}: they must agree"
            )
        size = Size(image.shape[1], image.shape[0])
        grey = small_grey(image)
        if is_cut:
            self._forget()
        start = self._start(grey, player_mask, size)
        self._grey = grey
        if start is None and self._wait > 0:
            self._wait -= 1
            return refused(self._last_reason)
        evidence = read_evidence(image, player_mask)
        if evidence is None:
            return self._give_up(refused(NO_ICE))
        followed = None if start is None else self._follow(evidence, start)
        if followed is not None:
            return self._keep(followed, size, How.FOLLOWED)
        return self._recover(evidence, start, size)

    def _recover(self, evidence: Evidence, start: Alignment | None, size: Size) -> Registration:
        """Search anew, or carry the camera of the frames before where that does not help."""
        found = self.search(evidence) if self._wait == 0 else None
        reason = self._last_reason if self._wait else NO_VIEW
        if found is not None:
            reason = refusal(found, self.sheet, self.prior)
            if not reason:
                return self._keep(found, size, How.FOUND)
        if start is not None and self._carried < MOST_CARRIED:
            self._carried += 1
            self._before = start
            self._put_off(reason)
            return registration_of(start, "", size, How.CARRIED)
        return self._give_up(refused(reason) if found is None else registration_of(found, reason, size))

    def _keep(self, found: Alignment, size: Size, how: How) -> Registration:
        self._before, self._carried, self._wait, self._next_wait = found, 0, 0, 1
        return registration_of(found, "", size, how)

    def _give_up(self, given: Registration) -> Registration:
        self._before = None
        self._put_off(given.reason)
        return given

    def _put_off(self, reason: str) -> None:
        self._last_reason = reason
        if self._wait == 0:
            self._wait, self._next_wait = self._next_wait, min(2 * self._next_wait, LONGEST_WAIT)
        else:
            self._wait -= 1

    def _forget(self) -> None:
        self._before, self._grey, self._carried, self._wait, self._next_wait = None, None, 0, 0, 1

    def _start(self, grey: ImageArray, players: MaskArray, size: Size) -> Alignment | None:
        """Return the alignment of the frame before, moved with the picture."""
        if self._before is None or self._grey is None or self._grey.shape != grey.shape:
            return None
        motion: FloatArray | None = camera_motion(self._grey, grey, working_size(size).width, players)
        return None if motion is None else carried(self._before, motion)

    def _follow(self, evidence: Evidence, start: Alignment) -> Alignment | None:
        prior = self.prior.around(start.camera)
        found = align(evidence, self._samples, self.sheet, start.camera, prior, WARM_REACHES_PX)
        return None if found is None or refusal(found, self.sheet, self.prior) else found

    def search(self, evidence: Evidence) -> Alignment | None:
        """Return the camera that explains a frame best, from nothing; it may still be one to refuse."""
        # a new generator for every frame: what a frame gives does not depend on the frames before
        starts = search(evidence, self.dictionary(evidence.size), np.random.default_rng(self._seed))
        cameras = [camera_of(start.pose, evidence.size) for start in starts]
        rough = [
            align(evidence, self._rough, self.sheet, camera, self.prior.holding(camera), ROUGH_REACHES_PX)
            for camera in cameras
        ]
        best = sorted((fit for fit in rough if fit is not None), key=lambda fit: -fit.support_px)[:FINALISTS]
        fits = [align(evidence, self._samples, self.sheet, fit.camera, self.prior) for fit in best]
        found = max((fit for fit in fits if fit is not None), key=lambda fit: fit.support_px, default=None)
        return None if found is None else self._polished(evidence, found)

    def dictionary(self, size: Size) -> Dictionary:
        """Return the views to look up in pictures of a shape; made at the first use."""
        aspect = size.width / size.height
        if self._dictionary is None or abs(self._dictionary.aspect - aspect) > 1e-3:
            self._dictionary = Dictionary(self.sheet, self.prior, aspect)
        return self._dictionary

    def _polished(self, evidence: Evidence, found: Alignment) -> Alignment:
        """Fit again from where the fit ended, as long as that explains more of the picture."""
        for _ in range(POLISHES):
            again = align(evidence, self._samples, self.sheet, found.camera, self.prior)
            if again is None or again.support_px <= found.support_px + POLISH_GAIN * found.length_px:
                return found
            found = again
        return found


def registration_of(found: Alignment, reason: str, size: Size, how: How = How.FOUND) -> Registration:
    """Return an alignment in a frame's own pixels; with a reason it is refused."""
    scale = size.width / found.camera.size.width
    by_pixel = np.ones(len(found.covariance))
    by_pixel[FOCAL] = scale
    covariance = found.covariance * np.outer(by_pixel, by_pixel)
    camera = replace(found.camera.resized(size), pixel_aspect=1.0)
    return Registration(not reason, reason, camera, covariance, found.agreement, how)
