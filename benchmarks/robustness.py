"""What other zooms, encoders and colours cost a model on single frames of a labelled dataset.

    python benchmarks/robustness.py DATASET --matches g4,g9 [--model FILE.onnx] [--every 2]

Each row shows the same frames in another form. `half` shrinks the frame into a mirrored surround and `double` magnifies
the quarter around the puck, so that the puck is half or twice as large where the network looks; the mean over frames of
AP within 5, 10, 25 and 50 px counts in pixels of the changed frame.
"""

from collections.abc import Callable, Iterator
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

from plucc.data.manifest import Dataset, read_dataset
from plucc.data.schema import Record
from plucc.locator import SHIPPED_MODEL, Locator
from plucc.types import ImageArray, Point
from plucc.video import read_image

THRESHOLDS_PX = (5, 10, 25, 50)
Changed: TypeAlias = tuple[ImageArray, Point]


def native(image: ImageArray, puck: Point) -> Changed:
    """Leave the frame as it is."""
    return image, puck


def half(image: ImageArray, puck: Point) -> Changed:
    """Shrink to half in the middle of a frame of the same size; around it the picture is mirrored."""
    height, width = image.shape[:2]
    small = cv2.resize(image, (width // 2, height // 2), interpolation=cv2.INTER_AREA)
    down, across = (height - height // 2) // 2, (width - width // 2) // 2
    whole = cv2.copyMakeBorder(
        small, down, height - height // 2 - down, across, width - width // 2 - across, cv2.BORDER_REFLECT
    )
    keep = np.zeros((height, width, 1), np.uint8)
    keep[down : down + height // 2, across : across + width // 2] = 1
    veiled = cv2.GaussianBlur(whole, (0, 0), 9.0)  # a mirrored puck must not count as a false alarm
    return np.where(keep > 0, whole, veiled), Point(puck.x / 2 + across, puck.y / 2 + down)


def double(image: ImageArray, puck: Point) -> Changed:
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


CHANGES: tuple[Callable[[ImageArray, Point], Changed], ...] = (native, half, double, jpeg, h264, grey)


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
    locator = Locator(model)
    table = Table("frames", "mAP", "AP5", "AP50", "drop", title=f"{len(records)} frames")
    before = float("nan")
    for change in CHANGES:
        shares = _shares(np.array(list(_errors_px(locator, dataset, records, change))))
        mean = float(np.mean(shares))
        before = mean if change is native else before
        table.add_row(change.__name__, f"{mean:.1f}", f"{shares[0]:.1f}", f"{shares[-1]:.1f}", f"{before - mean:.1f}")
    Console().print(table)


def _errors_px(
    locator: Locator, dataset: Dataset, records: list[Record], change: Callable[[ImageArray, Point], Changed]
) -> Iterator[float]:
    for record in track(records, description=change.__name__, console=Console(stderr=True)):
        if record.puck is None:
            continue
        image, puck = change(read_image(dataset.image_path(record)), record.puck.centre_px)
        yield locator.frame(image).candidates[0].xy_px.distance(puck) * record.size.reference_scale


def _shares(errors_px: np.ndarray) -> list[float]:
    return [100 * float((errors_px <= threshold).mean()) for threshold in THRESHOLDS_PX]


if __name__ == "__main__":
    typer.run(main)
