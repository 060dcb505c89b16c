"""How often real broadcast frames register, and how far from hand-clicked points they land: see `registration.py`.

Both need the HockeyAI frames beside the project and say so where they are absent. `sample` registers every n-th frame
of all games, each from nothing, and lists the refusals; which of them the main camera did not film was decided by
looking, before any run, and is in `tests/register/other_cameras.json`. `clicks` projects the points that
`tests/register/clicked_points.json` holds, and compares metres. Registrations are kept in a table; frames that it
holds already are not registered again, so that both can stop and go on. Remove it after changing the program.
"""

import csv
import json
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np

from plucc.context.shipped import ShippedFinder
from plucc.register import Registrar
from plucc.register.table import RegisteredFrame, line_of, read_registrations
from plucc.rink.sheet import iihf
from plucc.types import InputError, Size
from plucc.video import read_image

ROOT = Path(__file__).parents[1]
DATA = ROOT.parent / "shared" / "data" / "hockeyai"
LABELS = ROOT / "tests" / "register"
# Arenas paint these 1.5 m from the edge of the blue line, or from its middle: the sheet is not to blame
VARIES = "neutral spot"


def registered(files, width_m, table, threads):
    """Return each named frame registered from nothing, in order; those in the table are taken from there."""
    if not DATA.is_dir():
        raise InputError(f"{DATA} is absent: put the HockeyAI frames there")
    known = {one.file: one for one in read_registrations(table)} if table.exists() else {}
    registrar, find_players = Registrar(iihf(width_m)), ShippedFinder(threads=threads)
    with table.open("a", encoding="utf-8") as lines:
        for file in (one for one in files if one not in known):
            image = read_image(DATA / "frames" / file)
            given = registrar.frame(image, find_players(image), is_cut=True)
            one = RegisteredFrame(file, 0, 0.0, 0, Size(image.shape[1], image.shape[0]), given)
            lines.write(line_of(one).model_dump_json(exclude_none=True) + "\n")
            lines.flush()
            known[file] = one
    return [known[file] for file in files]


def sample(every, width_m, table, threads):
    """Register every n-th frame; print the share accepted by game, and every refusal."""
    with (DATA / "index.csv").open(newline="") as lines:
        games = {row["file"]: row["game"] for row in list(csv.DictReader(lines))[::every]}
    others = {row["file"]: row["reason"] for row in json.loads((LABELS / "other_cameras.json").read_text())}
    frames = registered(list(games), width_m, table, threads)
    main = [one for one in frames if one.file not in others]
    count = Counter(games[one.file] for one in main)
    accepted = Counter(games[one.file] for one in main if one.registration.accepted)
    print("| game | main-camera frames | accepted |\n|---|---|---|")
    for game, total in sorted(count.items()):
        print(f"| {game} | {total} | {accepted[game]} ({accepted[game] / total:.0%}) |")
    print(f"| all | {len(main)} | {accepted.total()} ({accepted.total() / len(main):.0%}) |\n")
    foreign = [one for one in frames if one.file in others]
    wrong = [one.file for one in foreign if one.registration.accepted]
    print(f"{len(foreign)} frames of other cameras, {len(wrong)} accepted {' '.join(wrong)}\n")
    print("| refused main-camera frame | game | reason |\n|---|---|---|")
    for one in main:
        if not one.registration.accepted:
            print(f"| {Path(one.file).stem[:8]} | {games[one.file]} | {one.registration.reason} |")


def clicks(width_m, table, threads):
    """Print how far clicked points land from their landmarks, by game and by kind of landmark."""
    clicked = json.loads((LABELS / "clicked_points.json").read_text())
    frames = registered([entry["file"] for entry in clicked], width_m, table, threads)
    landmarks = iihf(width_m).landmarks
    errors = defaultdict(list)
    for entry, one in zip(clicked, frames, strict=True):
        if not one.registration.accepted:
            print(f"refused: {entry['file'][:8]} ({entry['game']}), {one.registration.reason}")
            continue
        for point in entry["points"]:
            place_m = one.registration.camera.back_project(np.array([point["image_px"]]))[0]
            error_m = float(np.hypot(*(place_m - tuple(landmarks[point["landmark"]]))))
            kind = " ".join(point["landmark"].split()[:2])
            keys = ("all", f"game {entry['game']}", kind, *(() if kind == VARIES else (f"all but {VARIES}s",)))
            for key in keys:
                errors[key].append(error_m)
    accepted = sum(one.registration.accepted for one in frames)
    print(f"\n{accepted} of {len(frames)} frames accepted\n\n| points | number | median m | 90 % m | worst m |")
    print("|---|---|---|---|---|")
    for key, values in sorted(errors.items()):
        print(
            f"| {key} | {len(values)} | {np.median(values):.3f} | {np.percentile(values, 90):.3f} | {max(values):.2f} |"
        )
