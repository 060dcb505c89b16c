"""Look for the puck in one picture, and see the runners-up too: python examples/locate_picture.py frame.jpg."""

import sys
from pathlib import Path

import plucc


def main(picture: str) -> None:
    """Print the places where the puck may be, the likeliest first."""
    locator = plucc.Locator()  # loads the networks: keep it for all pictures
    seen = locator.frame(plucc.read_image(Path(picture)))
    print(f"a puck shows with probability {seen.presence:.0%}")
    for candidate in seen.candidates:
        print(f"({candidate.xy_px.x:.1f}, {candidate.xy_px.y:.1f})  {candidate.probability:.0%}")


if __name__ == "__main__":
    main(sys.argv[1])
