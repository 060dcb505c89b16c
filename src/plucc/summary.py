"""One page about a table of rows: where the puck was, when it was found and how, and which frames to look at."""

import base64
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import cv2
import numpy as np

from plucc.data.rows import Row
from plucc.draw import INK, PAPER, position_map, write_picture
from plucc.files import whole_file
from plucc.overlay import SOURCE_RGB, draw_puck, rink_map
from plucc.rink.sheet import Sheet
from plucc.types import FloatArray, ImageArray, InputError, Point, Size, Source
from plucc.video import VideoReader

WIDTH_PX = 1280
THUMBNAILS = 8
_THUMBNAIL = Size(312, 176)
_MARGIN = 16
_TIMELINE_HEIGHT = 220
_APART_S = 1.0  # between two thumbnails, so that they do not all show one moment
_SUFFIXES = (".png", ".jpg", ".html")


@dataclass(frozen=True, slots=True)
class Thumbnail:
    """A frame that is worth a look."""

    row: Row
    image: ImageArray


@dataclass(frozen=True, slots=True)
class Summary:
    """What the page says, whichever way it is written."""

    title: str
    shares: dict[Source, float]
    lines: tuple[str, ...]
    map: ImageArray
    timeline: ImageArray
    thumbnails: tuple[Thumbnail, ...]


def check_summary(path: Path) -> None:
    """Refuse a name that no summary is written to."""
    if path.suffix.lower() not in _SUFFIXES:
        raise InputError(f"{path} has no known format for a summary: name it .png or .html")


def write_summary(path: Path, rows: Sequence[Row], video: Path | None, sheet: Sheet | None) -> None:
    """Write the page as a picture or as HTML, by the suffix of `path`; thumbnails need the video."""
    check_summary(path)
    summary = summarise(rows, video, sheet)
    if path.suffix.lower() == ".html":
        with whole_file(path) as temporary:
            temporary.write_text(_html(summary), encoding="utf-8")
    else:
        write_picture(draw_summary(summary), path)


def summarise(rows: Sequence[Row], video: Path | None, sheet: Sheet | None) -> Summary:
    """Return all that the page shows of a table of rows."""
    if not rows:
        raise InputError("a table without rows has no summary: locate the puck in something first")
    counts = Counter(row.source for row in rows)
    shares = {source: counts[source] / len(rows) for source in Source}
    reader = None if video is None else VideoReader(video)
    files = sorted({row.file for row in rows})
    title = files[0] if len(files) == 1 else f"{len(files)} files"
    return Summary(
        title, shares, _facts(rows), _map(rows, reader, sheet), _timeline(rows), _thumbnails(rows, reader)
    )  # fmt: skip


def draw_summary(summary: Summary) -> ImageArray:
    """Return the page as one picture."""
    rink = _fitted(summary.map, WIDTH_PX * 62 // 100)
    side = np.full((max(rink.shape[0], 330), WIDTH_PX - rink.shape[1] - 3 * _MARGIN, 3), PAPER, np.uint8)
    _draw_shares(side, summary)
    top = np.full((side.shape[0], WIDTH_PX, 3), PAPER, np.uint8)
    top[: rink.shape[0], _MARGIN : _MARGIN + rink.shape[1]] = rink
    top[:, -side.shape[1] - _MARGIN : -_MARGIN] = side
    head = np.full((56, WIDTH_PX, 3), PAPER, np.uint8)
    _text(head, f"plucc: {summary.title}", (_MARGIN, 38), 0.9)
    return np.vstack([head, top, summary.timeline, _contact_sheet(summary.thumbnails)])


def least_certain(rows: Sequence[Row], count: int) -> list[Row]:
    """Return the located rows with the least confidence, no two of one file within a second, in order of time."""
    chosen: list[Row] = []
    for row in sorted((row for row in rows if row.x_px is not None), key=lambda row: row.confidence):
        if all(row.file != other.file or abs(row.time_s - other.time_s) >= _APART_S for other in chosen):
            chosen.append(row)
        if len(chosen) == count:
            break
    return sorted(chosen, key=lambda row: (row.file, row.frame))


def _facts(rows: Sequence[Row]) -> tuple[str, ...]:
    found = [row for row in rows if row.x_px is not None]
    on_rink = sum(row.x_m is not None for row in rows)
    shots = len({(row.file, row.shot) for row in rows})
    lasts_s = max(row.time_s for row in rows) - min(row.time_s for row in rows)
    mean = np.mean([row.confidence for row in found]) if found else 0.0
    lines = [
        f"{len(rows)} frames, {lasts_s:.1f} s, {shots} {'shot' if shots == 1 else 'shots'}",
        f"puck located in {len(found)}",
    ]
    lines.append(f"mean confidence there {mean:.2f}")
    lines.append(f"on the rink in {on_rink}" if on_rink else "not registered to the rink")
    return tuple(lines)


def _map(rows: Sequence[Row], video: VideoReader | None, sheet: Sheet | None) -> ImageArray:
    """Return where the puck was: on the rink where rows say so, else in the picture."""
    if sheet is not None:
        return _puck_map_on_rink(rows, sheet)
    points = np.array([(row.x_px, row.y_px) for row in rows if row.x_px is not None], float).reshape(-1, 2)
    size = _frame_size(points, video)
    shares = points / (size.width, size.height)
    return position_map(np.clip(shares, 0, 1), size, "where the puck was in the picture")


def _frame_size(points: FloatArray, video: VideoReader | None) -> Size:
    if video is not None:
        return next(video.frames()).size
    x, y = points.max(axis=0, initial=1.0)
    return Size(max(1, int(np.ceil(x))), max(1, int(np.ceil(y))))


def _puck_map_on_rink(rows: Sequence[Row], sheet: Sheet) -> ImageArray:
    image, to_px = rink_map(sheet, 760)
    places = [(row, to_px @ np.array([row.x_m, row.y_m, 1.0], float)) for row in rows if row.x_m is not None]
    counts = np.zeros(image.shape[:2], np.float32)
    for _, (x, y, _) in places:
        if 0 <= x < image.shape[1] and 0 <= y < image.shape[0]:
            counts[int(y), int(x)] += 1
    density = cv2.GaussianBlur(counts, (0, 0), 12)
    heat = (np.clip(density / max(float(density.max()), 1e-9), 0, 1) * 255).astype(np.uint8)
    colours = cv2.cvtColor(cv2.applyColorMap(heat, cv2.COLORMAP_INFERNO), cv2.COLOR_BGR2RGB)
    share = (0.6 * np.sqrt(heat / 255.0))[..., None]
    image = np.asarray(image * (1 - share) + colours * share, np.uint8)
    for row, (x, y, _) in places[:: max(1, len(places) // 4000)]:
        cv2.circle(image, (int(x), int(y)), 2, SOURCE_RGB[row.source], -1, cv2.LINE_AA)
    return image


def _timeline(rows: Sequence[Row]) -> ImageArray:
    """Return confidence over time, above a band that says by colour how the puck was found; shots are ticked."""
    canvas = np.full((_TIMELINE_HEIGHT, WIDTH_PX, 3), PAPER, np.uint8)
    left, right, top, bottom = 60, WIDTH_PX - _MARGIN, 40, 140
    _text(canvas, "confidence and source over time", (_MARGIN, 24), 0.55)
    columns = np.minimum(np.arange(len(rows)) * (right - left) // len(rows), right - left - 1)
    for level in (0.0, 0.5, 1.0):
        y = round(bottom - level * (bottom - top))
        cv2.line(canvas, (left, y), (right, y), (60, 62, 70), 1)
        _text(canvas, f"{level:.1f}", (_MARGIN, y + 5), 0.45)
    width = max(1, -(-(right - left) // len(rows)))
    for column in np.unique(columns).tolist():
        here = [rows[index] for index in np.flatnonzero(columns == column).tolist()]
        x = left + column
        mean = float(np.mean([row.confidence for row in here]))
        most = Counter(row.source for row in here).most_common(1)[0][0]
        y = round(bottom - mean * (bottom - top))
        cv2.rectangle(canvas, (x, y), (x + width - 1, bottom), SOURCE_RGB[most], -1)
        cv2.rectangle(canvas, (x, bottom + 8), (x + width - 1, bottom + 30), SOURCE_RGB[most], -1)
    for index in range(1, len(rows)):
        if (rows[index].file, rows[index].shot) != (rows[index - 1].file, rows[index - 1].shot):
            x = left + int(columns[index])
            cv2.line(canvas, (x, top), (x, bottom + 34), INK, 1)
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        row = rows[min(len(rows) - 1, round(share * (len(rows) - 1)))]
        _text(
            canvas, f"{row.time_s:.1f} s", (left + round(share * (right - left)) - round(54 * share), bottom + 52), 0.45
        )
    return canvas


def _thumbnails(rows: Sequence[Row], video: VideoReader | None) -> tuple[Thumbnail, ...]:
    if video is None:
        return ()
    made = []
    for row in least_certain(rows, THUMBNAILS):
        frame = next(video.frames(row.frame, row.frame + 1), None)
        if frame is None or row.x_px is None or row.y_px is None:
            continue
        marked = draw_puck(frame.image, Point(row.x_px, row.y_px), row.source, row.confidence)
        made.append(Thumbnail(row, _around(marked, Point(row.x_px, row.y_px))))
    return tuple(made)


def _around(image: ImageArray, centre: Point) -> ImageArray:
    """Return the part around a point, half as wide and high as the frame, at the size of a thumbnail."""
    height, width = image.shape[0] // 2, image.shape[1] // 2
    left = int(np.clip(centre.x - width / 2, 0, image.shape[1] - width))
    top = int(np.clip(centre.y - height / 2, 0, image.shape[0] - height))
    part = image[top : top + height, left : left + width]
    return np.asarray(cv2.resize(part, (_THUMBNAIL.width, _THUMBNAIL.height), interpolation=cv2.INTER_AREA), np.uint8)


def _draw_shares(canvas: ImageArray, summary: Summary) -> None:
    for line, text in enumerate(summary.lines):
        _text(canvas, text, (4, 26 + 24 * line), 0.52)
    top = 40 + 24 * len(summary.lines)
    for line, (source, share) in enumerate(summary.shares.items()):
        y = top + 46 * line
        _text(canvas, f"{source.value} {share:.1%}", (4, y + 14), 0.52)
        cv2.rectangle(canvas, (4, y + 20), (canvas.shape[1] - 4, y + 34), (60, 62, 70), -1)
        end = 4 + round(share * (canvas.shape[1] - 8))
        if end > 4:
            cv2.rectangle(canvas, (4, y + 20), (end, y + 34), SOURCE_RGB[source], -1)


def _contact_sheet(thumbnails: Sequence[Thumbnail]) -> ImageArray:
    columns = 4
    lines = -(-len(thumbnails) // columns)
    cell = _THUMBNAIL.height + 26
    canvas = np.full((lines * cell + (34 if lines else 0), WIDTH_PX, 3), PAPER, np.uint8)
    if lines:
        _text(canvas, "least certain frames", (_MARGIN, 24), 0.55)
    for number, thumbnail in enumerate(thumbnails):
        left = 4 + number % columns * (_THUMBNAIL.width + 8)
        top = 34 + number // columns * cell
        canvas[top : top + _THUMBNAIL.height, left : left + _THUMBNAIL.width] = thumbnail.image
        _text(canvas, _caption(thumbnail.row), (left + 2, top + _THUMBNAIL.height + 18), 0.45)
    return canvas


def _caption(row: Row) -> str:
    return f"{row.time_s:.2f} s, frame {row.frame}: {row.source.value} {row.confidence:.0%}"


def _fitted(image: ImageArray, width_px: int) -> ImageArray:
    height = round(image.shape[0] * width_px / image.shape[1])
    return np.asarray(cv2.resize(image, (width_px, height), interpolation=cv2.INTER_AREA), np.uint8)


def _text(canvas: ImageArray, text: str, origin: tuple[int, int], scale: float) -> None:
    cv2.putText(canvas, text, origin, cv2.FONT_HERSHEY_SIMPLEX, scale, INK, 1, cv2.LINE_AA)


def _html(summary: Summary) -> str:
    """Return the page as one file: pictures are part of it."""
    shares = "".join(
        f'<tr><td><i style="background:rgb{SOURCE_RGB[source]}"></i> {source.value}</td><td>{share:.1%}</td></tr>'
        for source, share in summary.shares.items()
    )
    frames = "".join(
        f"<figure><img src='{_embedded(thumbnail.image)}' alt=''><figcaption>{escape(_caption(thumbnail.row))}"
        f"</figcaption></figure>"
        for thumbnail in summary.thumbnails
    )
    facts = "".join(f"<li>{escape(line)}</li>" for line in summary.lines)
    title = escape(summary.title)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>plucc: {title}</title><style>
body {{ background: #181a20; color: #ebebeb; font: 15px/1.5 sans-serif; max-width: 1280px; margin: 2em auto }}
img {{ max-width: 100% }} main {{ display: flex; gap: 2em; flex-wrap: wrap }} td {{ padding: .2em 1em .2em 0 }}
i {{ display: inline-block; width: 1em; height: 1em; vertical-align: -.1em }}
figure {{ display: inline-block; margin: 4px }} figcaption {{ font-size: 13px }}
</style></head><body><h1>{title}</h1>
<main><img src="{_embedded(summary.map)}" alt="where the puck was" style="width:62%">
<div><ul>{facts}</ul><table>{shares}</table></div></main>
<h2>Over time</h2><img src="{_embedded(summary.timeline)}" alt="confidence and source over time">
<h2>Least certain frames</h2><div>{frames}</div>
</body></html>
"""


def _embedded(image: ImageArray) -> str:
    _, encoded = cv2.imencode(".png", cv2.cvtColor(image, cv2.COLOR_RGB2BGR))
    return "data:image/png;base64," + base64.b64encode(encoded.tobytes()).decode()
