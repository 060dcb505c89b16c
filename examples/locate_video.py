"""Print where the puck is in every frame of a video: python examples/locate_video.py game.mp4."""

import sys

import plucc


def main(video: str) -> None:
    """Print one line a frame."""
    for row in plucc.locate(video):
        place = "no puck" if row.x_px is None else f"({row.x_px:.1f}, {row.y_px:.1f})"
        print(f"{row.time_s:8.3f} s  {row.source.value:12}  {row.confidence:4.0%}  {place}")


if __name__ == "__main__":
    main(sys.argv[1])
