"""A part of a video, following the puck, rows as soon as they are decided: python examples/locate_part.py game.mp4."""

import sys

import plucc


def main(video: str) -> None:
    """Print the shots in which the puck was found, from the first second on."""
    settings = plucc.Settings(absent_below=0.4, span=plucc.Span(start_s=0.0, end_s=1.0, every=5), follow=True, delay=8)
    found: dict[int, int] = {}
    for row in plucc.locate(video, settings=settings):
        found[row.shot] = found.get(row.shot, 0) + (row.source is not plucc.Source.ABSENT)
    for shot, count in found.items():
        print(f"shot {shot}: puck in {count} frames")


if __name__ == "__main__":
    main(sys.argv[1])
