"""From clicked points to metres on the ice: python examples/pixels_to_rink.py."""

import numpy as np

from plucc.rink.homography import fit_homography
from plucc.rink.sheet import sheet_by_name

CLICKS_PX = {
    "blue line left far": (392.0, 219.0),
    "blue line right far": (803.0, 222.0),
    "neutral spot left near": (309.0, 443.0),
    "neutral spot right near": (800.0, 448.0),
    "centre circle near": (560.0, 410.0),
    "centre spot": (573.0, 346.0),
}


def main() -> None:
    """Fit the homography of a view from landmarks that a person clicked, and place a puck with it."""
    sheet = sheet_by_name("nhl")
    image_px = np.array(list(CLICKS_PX.values()))
    rink_m = np.array([tuple(sheet.landmarks[name]) for name in CLICKS_PX])
    fit = fit_homography(image_px, rink_m)
    puck_m = fit.homography.to_rink(np.array([[700.0, 420.0]]))[0]
    print(f"the puck at pixel (700, 420) lies at {puck_m[0]:.2f} m, {puck_m[1]:.2f} m from centre ice")
    print(f"zone: {('left end', 'neutral', 'right end')[int(sheet.zones(puck_m[None])[0]) + 1]}")


if __name__ == "__main__":
    main()
