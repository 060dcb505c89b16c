"""What was found, drawn onto the frame that it was found in; takes and returns RGB pixels."""

from collections.abc import Collection, Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from plucc.rink.sheet import COLOURS_RGB, Sheet
from plucc.types import FloatArray, ImageArray, Point, Size, Source

SOURCE_RGB = {
    Source.SEEN: (40, 220, 90),
    Source.INFERRED: (255, 170, 30),
    Source.INTERPOLATED: (60, 170, 255),
    Source.ABSENT: (170, 170, 170),
}
_SHIFT = 4  # OpenCV draws at sixteenths of a pixel
_HEAT_SHARE = 0.6
_FAINTEST = 12  # of 255: below it heat is not worth the paint


def draw_puck(image: ImageArray, xy_px: Point | None, source: Source, confidence: float) -> ImageArray:
    """Ring the puck in the colour of its source and say source and confidence; a frame without one only says so."""
    canvas, unit = image.copy(), image.shape[0] / 720
    colour = SOURCE_RGB[source]
    if xy_px is None:
        _write(canvas, source.value, Point(16 * unit, image.shape[0] - 16 * unit), colour, unit)
        return canvas
    label = f"{source.value} {confidence:.0%}"
    _circle(canvas, xy_px, 15 * unit, colour, max(1, round(2 * unit)))
    above = xy_px.y > 50 * unit
    _write(canvas, label, Point(xy_px.x + 14 * unit, xy_px.y + (-18 if above else 32) * unit), colour, unit)
    return canvas


def draw_trail(image: ImageArray, trail: Collection[tuple[Point, Source]]) -> ImageArray:
    """Draw where the puck was in the frames before, oldest first, fading towards the oldest."""
    canvas, unit = image.copy(), image.shape[0] / 720
    reach = max(3, round(5 * unit))
    for age, (xy_px, source) in enumerate(trail):
        left, top = max(0, int(xy_px.x) - reach), max(0, int(xy_px.y) - reach)
        patch = canvas[top : int(xy_px.y) + reach + 1, left : int(xy_px.x) + reach + 1]
        if not patch.size:
            continue
        drawn = patch.copy()
        _circle(drawn, Point(xy_px.x - left, xy_px.y - top), 3 * unit, SOURCE_RGB[source], -1)
        share = 0.8 * (age + 1) / len(trail)
        patch[:] = cv2.addWeighted(drawn, share, patch, 1 - share, 0)
    return canvas


def draw_heatmap(image: ImageArray, probability: FloatArray) -> ImageArray:
    """Lay a heatmap of any size over the frame; its highest cell is brightest, its floor shows nothing."""
    heat = np.sqrt(probability / max(float(probability.max()), 1e-12))  # so that faint peaks show
    return draw_heat(image, (255 * heat).astype(np.uint8))


def draw_heat(
    image: ImageArray, heat: ImageArray, keep_clear: Point | None = None, clear_px: float = 0.0
) -> ImageArray:
    """Lay a grey picture of any size over the frame, brighter for hotter; only where there is some.

    Within `clear_px` of the point `keep_clear` the frame is left as it is: what was found there is to be seen.
    """
    canvas = image.copy()
    rows, columns = np.nonzero(heat > _FAINTEST)
    if not len(rows):
        return canvas
    down, across = image.shape[0] / heat.shape[0], image.shape[1] / heat.shape[1]
    top, bottom = max(0, rows.min() - 1), min(heat.shape[0], rows.max() + 2)
    left, right = max(0, columns.min() - 1), min(heat.shape[1], columns.max() + 2)
    area = canvas[round(top * down) : round(bottom * down), round(left * across) : round(right * across)]
    part = cv2.resize(heat[top:bottom, left:right], (area.shape[1], area.shape[0]), interpolation=cv2.INTER_LINEAR)
    colours = cv2.cvtColor(cv2.applyColorMap(part, cv2.COLORMAP_INFERNO), cv2.COLOR_BGR2RGB)
    share = (_HEAT_SHARE / 255 * np.where(part > _FAINTEST, part, 0).astype(np.float32))[..., None]
    area[:] = (area * (1 - share) + colours * share).astype(np.uint8)
    if keep_clear is not None:
        _restore(canvas, image, keep_clear, clear_px)
    return canvas


def _restore(canvas: ImageArray, image: ImageArray, centre: Point, radius_px: float) -> None:
    """Put back what was under the paint around a point."""
    reach = int(np.ceil(radius_px))
    left, top = max(0, int(centre.x) - reach), max(0, int(centre.y) - reach)
    part = canvas[top : int(centre.y) + reach + 1, left : int(centre.x) + reach + 1]
    rows, columns = np.mgrid[: part.shape[0], : part.shape[1]]
    inside = np.hypot(columns + 0.5 + left - centre.x, rows + 0.5 + top - centre.y) <= radius_px
    part[inside] = image[top : top + part.shape[0], left : left + part.shape[1]][inside]


def draw_rink(
    image: ImageArray,
    rink: tuple[ImageArray, FloatArray],
    trail_m: Sequence[tuple[Point, Source]],
    keep_clear: Point | None = None,
) -> ImageArray:
    """Put the sheet from above into the lower right corner, with the puck's last places on it, the newest ringed.

    Where it would cover `keep_clear` it goes into the lower left corner.
    """
    map_image, to_px = rink
    plate = map_image.copy()
    for age, (place_m, source) in enumerate(trail_m, 1):
        x, y, _ = to_px @ (place_m.x, place_m.y, 1.0)
        is_newest = age == len(trail_m)
        _circle(plate, Point(x, y), 4.0 if is_newest else 1.5, SOURCE_RGB[source], -1)
        if is_newest:
            _circle(plate, Point(x, y), 5.0, (20, 20, 24), 1)
    canvas, margin = image.copy(), max(4, image.shape[0] // 60)
    height, width = plate.shape[:2]
    if height + margin > image.shape[0] or width + margin > image.shape[1]:
        return canvas
    top, left = image.shape[0] - height - margin, image.shape[1] - width - margin
    reach = 3 * margin  # of the ring around the puck
    if keep_clear is not None and keep_clear.y > top - reach and keep_clear.x > left - reach:
        left = margin
    canvas[top : top + height, left : left + width] = plate
    return canvas


def rink_map(sheet: Sheet, width_px: int) -> tuple[ImageArray, FloatArray]:
    """Return the sheet from above, and the 3×3 matrix from metres to that picture's pixels."""
    margin_m = 1.0
    scale = width_px / (sheet.length_m + 2 * margin_m)
    size = Size(width_px, round(scale * (sheet.width_m + 2 * margin_m)))
    to_px = np.array([[scale, 0, size.width / 2], [0, -scale, size.height / 2], [0, 0, 1.0]])
    canvas = np.full((size.height, size.width, 3), 60, np.uint8)
    cv2.fillPoly(canvas, [_polygon(sheet.boards(), to_px)], COLOURS_RGB["white"], cv2.LINE_AA, _SHIFT)
    for marking in sheet.markings:
        outline = [_polygon(marking.polygon(), to_px)]
        cv2.fillPoly(canvas, outline, COLOURS_RGB[marking.colour], cv2.LINE_AA, _SHIFT)
    cv2.polylines(canvas, [_polygon(sheet.boards(), to_px)], True, COLOURS_RGB["yellow"], 1, cv2.LINE_AA, _SHIFT)
    return canvas, to_px


def _polygon(points: FloatArray, matrix: FloatArray) -> NDArray[np.int32]:
    px = points @ matrix[:2, :2].T + matrix[:2, 2]
    return np.asarray(np.round((px - 0.5) * 2**_SHIFT), np.int32)


def _circle(canvas: ImageArray, xy_px: Point, radius_px: float, colour: tuple[int, int, int], thickness: int) -> None:
    centre = (round((xy_px.x - 0.5) * 2**_SHIFT), round((xy_px.y - 0.5) * 2**_SHIFT))
    cv2.circle(canvas, centre, max(1, round(radius_px * 2**_SHIFT)), colour, thickness, cv2.LINE_AA, _SHIFT)


def _write(canvas: ImageArray, text: str, origin: Point, colour: tuple[int, int, int], unit: float) -> None:
    """Write text on a dark plate, moved inside the picture where it would leave it."""
    scale, thick = max(0.3, 0.5 * unit), max(1, round(unit))
    (width, height), below = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, scale, thick)
    x = round(min(max(origin.x, 2), max(2, canvas.shape[1] - width - 4)))
    y = round(min(max(origin.y, height + 2), canvas.shape[0] - below - 2))
    cv2.rectangle(canvas, (x - 2, y - height - 2), (x + width + 2, y + below), (20, 20, 24), -1)
    cv2.putText(canvas, text, (x, y), cv2.FONT_HERSHEY_SIMPLEX, scale, colour, thick, cv2.LINE_AA)
