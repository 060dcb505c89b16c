import json

import numpy as np
import pytest

from plucc.register.imports import CONVENTIONS, read_homographies
from plucc.rink.camera import Camera
from plucc.rink.homography import to_paper_template
from plucc.types import DataError, InputError, Point, Size

CAMERA = Camera.look_at((1.0, -36.0, 13.0), (4.0, 1.0, 0.0), 1500.0, Size(1280, 720))
HOMOGRAPHY = CAMERA.homography()
WRITTEN = {
    "metres": HOMOGRAPHY.matrix,
    "to-pixels": HOMOGRAPHY.inverse,
    "paper": to_paper_template(HOMOGRAPHY),
}


@pytest.mark.parametrize("sign", [1.0, -3.0])
@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".npz"])
def test_every_convention_and_format_gives_the_same_ice(tmp_path, convention, suffix, sign):
    matrix = sign * WRITTEN[convention]
    path = tmp_path / f"h{suffix}"
    if suffix == ".json":
        path.write_text(json.dumps({"7": matrix.tolist()}))
    elif suffix == ".jsonl":
        path.write_text(
            json.dumps({"frame": 7, "homography": matrix.tolist()}) + "\n" + json.dumps({"frame": 8}) + "\n"
        )
    else:
        np.savez(path, **{"7": matrix})
    given = read_homographies(path, convention)
    assert list(given) == ["7"]
    x_m, y_m, _ = given["7"].locate(Point(700.0, 380.0), 1.0)
    np.testing.assert_allclose((x_m, y_m), HOMOGRAPHY.to_rink(np.array([[700.0, 380.0]]))[0], atol=1e-6)


def test_what_is_no_homography_gets_a_sentence(tmp_path):
    path = tmp_path / "h.json"
    path.write_text('{"0": [1, 2, 3]}')
    with pytest.raises(DataError, match="not 9"):
        read_homographies(path)
    with pytest.raises(InputError, match=r"\.npz"):
        read_homographies(tmp_path / "h.csv")
    with pytest.raises(InputError, match="paper"):
        read_homographies(path, "feet")
