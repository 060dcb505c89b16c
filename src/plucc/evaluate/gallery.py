"""Pictures of single frames: the best, the worst, and those where the model was sure and wrong."""

from dataclasses import dataclass

import cv2
import numpy as np

from plucc.data.schema import Record
from plucc.evaluate.answers import Answer
from plucc.evaluate.scoring import Scoring
from plucc.evaluate.selection import Labelled
from plucc.evaluate.subjects import Subject
from plucc.heatmap import PIXEL_CENTRE, axis_centres
from plucc.metrics.figures import CORRECT_PX
from plucc.overlay import draw_heatmap, rink_map
from plucc.rink.sheet import Sheet
from plucc.sighting import Observation
from plucc.types import FloatArray, ImageArray, Point, Progress, silent
from plucc.video import read_image

WIDTH_PX = 720
ZOOM_PX, ZOOM_SIDE_PX = 64, 176  # of the frame at 720 lines; of the inset
LABEL_RGB, ANSWER_RGB, PLAYER_RGB = (40, 220, 90), (255, 70, 60), (80, 170, 255)
MAP_WIDTH_PX = 720
RINK_BLUR_PX = 2.0  # on the map a sharp heatmap is smaller than a pixel


@dataclass(frozen=True, slots=True)
class Exhibit:
    """A picture with its caption; `warped` is the heatmap on the rink, where the frame's homography is known."""

    caption: str
    picture: ImageArray
    warped: ImageArray | None = None


@dataclass(frozen=True, slots=True)
class Gallery:
    """Pictures that have something in common."""

    title: str
    exhibits: tuple[Exhibit, ...]


def chosen_frames(scoring: Scoring, count: int) -> dict[str, list[int]]:
    """Return which frames are shown: the surest right ones, the largest errors, the surest wrong ones."""
    error_px, confidence = scoring.error_px, scoring.answered.confidence
    right = error_px <= CORRECT_PX
    wrong = scoring.answered.is_predicted & ~right
    order = {
        "Surest right": np.where(right, confidence, -np.inf),
        "Largest errors": np.where(np.isnan(error_px), -np.inf, error_px),
        "Surest wrong": np.where(wrong, confidence, -np.inf),
    }
    return {
        title: [int(index) for index in np.argsort(-key, kind="stable")[:count] if np.isfinite(key[index])]
        for title, key in order.items()
    }


def galleries(
    labelled: Labelled,
    scoring: Scoring,
    subject: Subject | None,
    sheet: Sheet,
    count: int,
    *,
    progress: Progress = silent,
) -> list[Gallery]:
    """Draw the galleries; with a model, its heatmap and players too. Frames of clips are not drawn."""
    if not count or labelled.video is not None:
        return []
    chosen = chosen_frames(scoring, count)
    wanted = sorted({index for indices in chosen.values() for index in indices})
    drawn = {}
    for index in progress(wanted, total=len(wanted), label="drawing"):
        record, answer = labelled.records[index], scoring.answers[index]
        image = read_image(labelled.dataset.image_path(record))
        seen = None if subject is None else subject.look(image, record.players).observation
        drawn[index] = _exhibit(record, answer, image, seen, sheet)
    return [Gallery(title, tuple(drawn[index] for index in indices)) for title, indices in chosen.items() if indices]


def _exhibit(record: Record, answer: Answer, image: ImageArray, seen: Observation | None, sheet: Sheet) -> Exhibit:
    label = None if record.puck is None else record.puck.centre_px
    picture = image if seen is None else draw_heatmap(image, seen.probability)
    if seen is not None:
        outlines, _ = cv2.findContours(seen.players.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
        picture = np.asarray(cv2.drawContours(picture.copy(), outlines, -1, PLAYER_RGB, 1), np.uint8)
    picture = _ringed(picture, label, answer.xy_px)
    warped = None if seen is None else warped_heatmap(record, seen, sheet)
    return Exhibit(_caption(record, answer, label), _with_zoom(picture, image, label, answer.xy_px), warped)


def _caption(record: Record, answer: Answer, label: Point | None) -> str:
    name = record.image.rsplit("/", 1)[-1]
    error = ""
    if label is not None and answer.xy_px is not None:
        error = f", {label.distance(answer.xy_px) * record.size.reference_scale:.1f} px off"
    kind = "" if record.category is None else f", {record.category}"
    return f"{name} ({record.match}{kind}): confidence {answer.confidence:.2f}{error}"


def _ringed(image: ImageArray, label: Point | None, answer: Point | None) -> ImageArray:
    canvas, unit = image.copy(), image.shape[0] / 720
    for point, colour, radius in ((label, LABEL_RGB, 16), (answer, ANSWER_RGB, 11)):
        if point is not None:
            cv2.circle(canvas, (int(point.x), int(point.y)), round(radius * unit), colour, max(1, round(2 * unit)))
    return canvas


def _with_zoom(picture: ImageArray, image: ImageArray, label: Point | None, answer: Point | None) -> ImageArray:
    """Shrink the picture and lay the plain surroundings of label and answer, enlarged, into its upper corners."""
    height = round(WIDTH_PX * picture.shape[0] / picture.shape[1])
    small = cv2.resize(picture, (WIDTH_PX, height), interpolation=cv2.INTER_AREA)
    side = min(ZOOM_SIDE_PX, height // 2)
    for point, colour, left in ((label, LABEL_RGB, 0), (answer, ANSWER_RGB, WIDTH_PX - side)):
        if point is not None:
            small[:side, left : left + side] = cv2.resize(_around(image, point), (side, side))
            cv2.rectangle(small, (left, 0), (left + side - 1, side - 1), colour, 2)
    return np.asarray(small, np.uint8)


def _around(image: ImageArray, point: Point) -> ImageArray:
    half = max(8, round(ZOOM_PX * image.shape[0] / 720 / 2))
    padded = cv2.copyMakeBorder(image, half, half, half, half, cv2.BORDER_CONSTANT)
    x, y = (min(max(int(value), 0), limit - 1) for value, limit in zip(point, image.shape[1::-1], strict=True))
    return np.asarray(padded[y : y + 2 * half, x : x + 2 * half], np.uint8)


def warped_heatmap(record: Record, seen: Observation, sheet: Sheet) -> ImageArray | None:
    """Draw the heatmap on the rink from above, as in the paper's figure; None where the frame is not registered.

    Each pixel of the rink looks up where in the frame it is; what the camera does not see stays bare.
    """
    homography = record.to_rink
    if homography is None:
        return None
    canvas, to_px = rink_map(sheet, MAP_WIDTH_PX)
    height, width = canvas.shape[:2]
    columns, rows = np.meshgrid(axis_centres(width), axis_centres(height))
    places_m = (np.stack((columns.ravel(), rows.ravel()), axis=1) - to_px[:2, 2]) / np.diag(to_px)[:2]
    frame_px = homography.to_image(places_m)
    if record.camera is not None and (record.camera.k1 or record.camera.k2):
        frame_px = record.camera.camera(record.size).distort(frame_px)
    heat = _looked_up(seen, frame_px.reshape(height, width, 2))
    if not heat.any():
        return canvas
    peak = np.unravel_index(int(np.argmax(heat)), heat.shape)
    drawn = draw_heatmap(canvas, np.asarray(cv2.GaussianBlur(heat, (0, 0), RINK_BLUR_PX), np.float32))
    return np.asarray(cv2.circle(drawn, (int(peak[1]), int(peak[0])), 12, ANSWER_RGB, 1, cv2.LINE_AA), np.uint8)


def _looked_up(seen: Observation, frame_px: FloatArray) -> FloatArray:
    cells = frame_px / seen.stride_px - PIXEL_CENTRE  # OpenCV counts from the centres of cells
    cells = np.where(np.isfinite(cells), np.clip(cells, -10, 1e4), -10).astype(np.float32)
    heat = seen.probability.astype(np.float32)
    columns, rows = (np.ascontiguousarray(cells[..., axis]) for axis in (0, 1))
    return np.asarray(
        cv2.remap(heat, columns, rows, cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT, borderValue=0), np.float32
    )
