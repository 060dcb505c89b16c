"""What other sizes, zooms, encoders and colours cost a model on single frames of a labelled dataset.

    python benchmarks/robustness.py DATASET --matches g4,g9 [--model FILE.onnx] [--every 2]

Each row shows the same frames in another form. Frames of other sizes are given to the program, which brings them to the
height that its network knows. Then come other zooms: `wide` sets the frame at half its size into one of 720 lines,
`close` magnifies the quarter around the puck; `fewer` and `more lines` hand the network half and twice the height,
while places count in the frame itself. The last rows are poorer cameras and channels: encoders, grey or bright
pictures, defocus, noise, 4:3 squeezed out of 16:9, and one field of two. The mean over frames of AP within 5, 10, 25
and 50 px counts in pixels of 720 lines of the changed frame.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Annotated, TypeAlias

import av
import cv2
import numpy as np
import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table
from sizes import AtHeight

from plucc.context.shipped import ShippedFinder
from plucc.data.manifest import Dataset, read_dataset
from plucc.data.schema import Record
from plucc.loading import SHIPPED_MODEL, companions, load_networks
from plucc.puck_finder import observe_closely
from plucc.types import REFERENCE_HEIGHT_PX, ImageArray, Point, Size
from plucc.video import read_image

THRESHOLDS_PX = (5, 10, 25, 50)
BLUR = 0.05  # of the frame's height: no puck, stick or letter is left
Changed: TypeAlias = tuple[ImageArray, Point]


def native(image: ImageArray, puck: Point) -> Changed:
    """Leave the frame as it is."""
    return image, puck


def resized(image: ImageArray, puck: Point, factor: float) -> Changed:
    """Give the frame another size."""
    size = (round(image.shape[1] * factor), round(image.shape[0] * factor))
    way = cv2.INTER_AREA if factor < 1 else cv2.INTER_CUBIC
    return np.asarray(cv2.resize(image, size, interpolation=way), np.uint8), Point(puck.x * factor, puck.y * factor)


def wide(image: ImageArray, puck: Point) -> Changed:
    """Set the frame at half its size into the middle of its own blur, which shows nothing."""
    height, width = image.shape[:2]
    top, left = height // 4, width // 4
    small, place = resized(image, puck, 0.5)
    frame = np.asarray(cv2.GaussianBlur(image, (0, 0), BLUR * height), np.uint8)
    frame[top : top + small.shape[0], left : left + small.shape[1]] = small
    return frame, Point(left + place.x, top + place.y)


def close(image: ImageArray, puck: Point) -> Changed:
    """Magnify the quarter of the frame around the puck to the whole."""
    height, width = image.shape[:2]
    left = int(np.clip(puck.x - width / 4, 0, width // 2))
    top = int(np.clip(puck.y - height / 4, 0, height // 2))
    part = image[top : top + height // 2, left : left + width // 2]
    large = np.asarray(cv2.resize(part, (width, height), interpolation=cv2.INTER_CUBIC), np.uint8)
    return large, Point(2 * (puck.x - left), 2 * (puck.y - top))


def jpeg(image: ImageArray, puck: Point) -> Changed:
    """Send the frame through JPEG of quality 20."""
    encoded = cv2.imencode(".jpg", cv2.cvtColor(image, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, 20])[1]
    return np.asarray(cv2.imdecode(encoded, cv2.IMREAD_COLOR_RGB), np.uint8), puck


def h264(image: ImageArray, puck: Point) -> Changed:
    """Send the frame through H.264 at a low bitrate (constant rate factor 34)."""
    encoder = av.CodecContext.create("libx264", "w")
    encoder.width, encoder.height, encoder.pix_fmt = image.shape[1], image.shape[0], "yuv420p"
    encoder.time_base = Fraction(1, 25)
    encoder.options = {"crf": "34", "preset": "veryfast", "tune": "zerolatency"}
    packets = [*encoder.encode(av.VideoFrame.from_ndarray(image, format="rgb24")), *encoder.encode(None)]
    decoder = av.CodecContext.create("h264", "r")
    frames = [frame for packet in [*packets, None] for frame in decoder.decode(packet)]
    return np.asarray(frames[0].to_ndarray(format="rgb24"), np.uint8), puck


def grey(image: ImageArray, puck: Point) -> Changed:
    """Take the colours away."""
    return np.asarray(cv2.cvtColor(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), cv2.COLOR_GRAY2RGB), np.uint8), puck


def bright(image: ImageArray, puck: Point) -> Changed:
    """Brighten by a gamma of 0.6."""
    level = np.arange(256) / 255
    return np.rint(255 * level**0.6).astype(np.uint8)[image], puck


def defocused(image: ImageArray, puck: Point) -> Changed:
    """Blur by a sigma of 1.5 px."""
    return np.asarray(cv2.GaussianBlur(image, (0, 0), 1.5), np.uint8), puck


def noisy(image: ImageArray, puck: Point) -> Changed:
    """Add noise of a sigma of 10 levels, the same for the same frame."""
    rng = np.random.default_rng(int(image.sum(dtype=np.int64)))
    noise = 10 * rng.standard_normal(image.shape, dtype=np.float32)
    return np.clip(np.rint(image + noise), 0, 255).astype(np.uint8), puck


def squeezed(image: ImageArray, puck: Point) -> Changed:
    """Squeeze widths to three quarters, as 16:9 sent in 4:3 is."""
    size = (image.shape[1] * 3 // 4, image.shape[0])
    narrow = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
    return np.asarray(narrow, np.uint8), Point(puck.x * size[0] / image.shape[1], puck.y)


def one_field(image: ImageArray, puck: Point) -> Changed:
    """Keep every second line and fill in the others."""
    field = np.ascontiguousarray(image[::2])
    lines = cv2.resize(field, (image.shape[1], image.shape[0]), interpolation=cv2.INTER_LINEAR)
    return np.asarray(lines, np.uint8), puck


@dataclass(frozen=True, slots=True)
class Form:
    """A way to change frames, and how many lines the network is shown of them."""

    name: str
    change: Callable[[ImageArray, Point], Changed] = native
    lines: int = REFERENCE_HEIGHT_PX


FORMS = (
    Form("as they are"),
    Form("of half the size, 640x360", lambda image, puck: resized(image, puck, 0.5)),
    Form("of 854x480, an odd size", lambda image, puck: resized(image, puck, 2 / 3)),
    Form("of twice the size", lambda image, puck: resized(image, puck, 2.0)),
    Form("wide: puck half as large", wide),
    Form("close: puck twice as large", close),
    Form("fewer lines for the network: puck half as large", lines=REFERENCE_HEIGHT_PX // 2),
    Form("more lines for the network: puck twice as large", lines=2 * REFERENCE_HEIGHT_PX),
    Form("JPEG of quality 20", jpeg),
    Form("H.264, rate factor 34", h264),
    Form("grey", grey),
    Form("bright, gamma 0.6", bright),
    Form("defocused, sigma 1.5 px", defocused),
    Form("noise, sigma 10", noisy),
    Form("squeezed to 4:3", squeezed),
    Form("every second line", one_field),
)


def main(
    folder: Annotated[Path, typer.Argument(help="Folder of a dataset.")],
    matches: Annotated[str, typer.Option(help="Matches to score, with commas between.")],
    model: Annotated[Path, typer.Option(help="An exported model.")] = SHIPPED_MODEL,
    every: Annotated[int, typer.Option(help="Score every n-th frame only.")] = 1,
) -> None:
    """Print the table."""
    dataset = read_dataset(folder)
    wanted = matches.split(",")
    records = [record for record in dataset.records if record.match in wanted and record.puck is not None][::every]
    look = Look(model)
    table = Table("frames", "mAP", "AP5", "AP50", "drop", title=f"{len(records)} frames")
    before = float("nan")
    for form in FORMS:
        shares = _shares(np.array(list(_errors_px(look, dataset, records, form))))
        mean = float(np.mean(shares))
        before = mean if form is FORMS[0] else before
        table.add_row(form.name, f"{mean:.1f}", f"{shares[0]:.1f}", f"{shares[-1]:.1f}", f"{before - mean:.1f}")
    Console().print(table)


class Look:
    """All looks of a model at frames that its networks see at any height."""

    def __init__(self, model: Path) -> None:
        self._networks = load_networks(companions(model))
        self._find_players = ShippedFinder()

    def __call__(self, image: ImageArray, lines: int) -> Point:
        """Return the likeliest place, in the frame's own pixels."""
        first, opinion = self._networks.first, self._networks.opinion
        shown = replace(
            self._networks,
            first=AtHeight(first, lines),
            opinion=None if opinion is None else AtHeight(opinion, lines),
        )
        seen = observe_closely(shown, image, self._find_players(image))
        return seen.candidates[0].xy_px


def _errors_px(look: Look, dataset: Dataset, records: Sequence[Record], form: Form) -> Iterator[float]:
    for record in track(records, description=form.name, console=Console(stderr=True)):
        if record.puck is None:
            continue
        image, puck = form.change(read_image(dataset.image_path(record)), record.puck.centre_px)
        scale = Size(image.shape[1], image.shape[0]).reference_scale
        yield look(image, form.lines).distance(puck) * scale


def _shares(errors_px: np.ndarray) -> list[float]:
    return [100 * float((errors_px <= threshold).mean()) for threshold in THRESHOLDS_PX]


if __name__ == "__main__":
    typer.run(main)
