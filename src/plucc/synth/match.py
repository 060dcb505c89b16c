"""A match: teams, arena, light and grading that stay the same in all its frames. All of it follows from one number."""

from dataclasses import dataclass

import numpy as np

from plucc.rink.sheet import Sheet, iihf, ncaa, nhl
from plucc.synth.body import Wardrobe, dress_goaltender, dress_referee, dress_skater
from plucc.synth.noise import rng_for
from plucc.synth.palette import SKIN, SPONSORS, Colour, Kit, jitter, pick, sample_kits
from plucc.synth.play import PEOPLE, Cast, role_of, sample_cast, team_of
from plucc.synth.raster import Light
from plucc.types import PlayerRole

MATCH_STREAM = 101


@dataclass(frozen=True, slots=True)
class Grading:
    """How the broadcaster's chain renders the match: white balance, contrast, sharpening, noise, vignette."""

    gain_bgr: tuple[float, float, float]
    gamma: float
    contrast: float
    lift: float
    saturation: float
    softness_px: float
    line_softness_px: float  # across the lines: cameras and de-interlacers lose more there
    sharpening: float
    grain: float
    vignette: float
    crf: int
    interlaced: bool


@dataclass(frozen=True, slots=True)
class Arena:
    """The building: ice, boards, glass, stands."""

    ice: Colour
    ice_unevenness: float
    wear: float
    line_fade: float
    board_height_m: float
    kick_height_m: float
    rail: Colour
    kick: Colour
    board_ground: Colour
    glass_height_m: float
    glass_haze: float
    stanchion_gap_m: float
    crowd_light: float
    crowd_fill: float
    crowd_tint: Colour
    stand_slope: float
    reflectivity: float
    has_screens: bool
    camera_position_m: tuple[float, float, float]
    distortion: float
    net_density: float  # of the safety net above the glass; 0: there is none


@dataclass(frozen=True, slots=True)
class Match:
    """Everything that a match's frames have in common."""

    seed: int
    number: int
    name: str
    sheet: Sheet
    arena: Arena
    grading: Grading
    light: Light
    kits: tuple[Kit, Kit]
    wardrobes: tuple[Wardrobe, ...]
    cast: Cast
    team_names: tuple[str, str]

    @property
    def key(self) -> tuple[int, int]:
        """What identifies the match among all seeds."""
        return self.seed, self.number


def sample_match(seed: int, number: int) -> Match:
    """Return match `number` of a seed."""
    rng = rng_for(seed, number, MATCH_STREAM)
    sheet = _sample_sheet(rng)
    kits = sample_kits(rng)
    names = tuple("".join(rng.choice(list("ABDFGHKLMNRSTV"), 3)) for _ in range(2))
    azimuth = rng.uniform(-0.4, 0.4, 2)
    direction = np.array([azimuth[0], azimuth[1] - 0.15, 1.0])
    light = Light(direction / np.linalg.norm(direction), float(rng.uniform(0.52, 0.66)), float(rng.uniform(0.4, 0.6)))
    return Match(
        seed=seed,
        number=number,
        name=f"synth-{seed}-{number:04d}",
        sheet=sheet,
        arena=_sample_arena(rng, kits[0]),
        grading=_sample_grading(rng),
        light=light,
        kits=kits,
        wardrobes=tuple(_dress(rng, row, kits) for row in range(PEOPLE)),
        cast=sample_cast(rng),
        team_names=(names[0], names[1]),
    )


def _sample_sheet(rng: np.random.Generator) -> Sheet:
    draw = rng.random()
    if draw < 0.62:
        return iihf(float(rng.choice([26.0, 28.0, 29.0, 30.0])))
    return nhl() if draw < 0.92 else ncaa()


def _sample_arena(rng: np.random.Generator, home: Kit) -> Arena:
    tint = rng.normal(0, 1.5, 3)
    level = rng.uniform(208, 240)
    ice = (int(level + 3 + tint[0]), int(level - 3 + tint[1]), int(level - 2 + tint[2]))
    rail: tuple[Colour, ...] = (
        (150, 80, 40),
        (150, 80, 40),
        (45, 35, 170),
        (60, 60, 60),
        (200, 200, 200),
        (140, 60, 20),
    )
    return Arena(
        ice=ice,
        ice_unevenness=float(rng.uniform(0.015, 0.05)),
        wear=float(rng.uniform(0.0, 1.0) ** 1.5),
        line_fade=float(rng.uniform(0.35, 0.85)),
        board_height_m=float(rng.uniform(1.05, 1.2)),
        kick_height_m=float(rng.uniform(0.17, 0.26)),
        rail=jitter(rng, pick(rng, rail)),
        kick=jitter(rng, (25, 200, 225) if rng.random() < 0.75 else (20, 165, 225), 9),
        board_ground=jitter(rng, (222, 220, 220), 7),
        glass_height_m=float(rng.uniform(1.6, 2.4)),
        glass_haze=float(rng.uniform(0.03, 0.25)),
        stanchion_gap_m=float(rng.choice([1.22, 1.5, 2.0, 2.44])),
        crowd_light=float(rng.uniform(0.25, 0.85)),
        crowd_fill=float(rng.uniform(0.5, 0.97)),
        crowd_tint=home.jersey if rng.random() < 0.6 else pick(rng, SPONSORS),
        stand_slope=float(rng.uniform(0.42, 0.7)),
        reflectivity=float(rng.uniform(0.03, 0.22)),
        has_screens=bool(rng.random() < 0.7),
        camera_position_m=(
            float(rng.uniform(-12, 12)),
            float(-rng.uniform(30, 45)),
            float(rng.uniform(10, 18)),
        ),
        distortion=float(rng.normal(-0.02, 0.05)),
        net_density=float(max(rng.uniform(-0.08, 0.26), 0.0)),
    )


def _sample_grading(rng: np.random.Generator) -> Grading:
    balance = np.minimum(rng.normal(0.99, 0.01, 3), 1.02)
    if rng.random() < 0.3:  # some chains leave the ice a little magenta or green
        balance[1] *= rng.choice([0.955, 0.97, 1.012])
    return Grading(
        gain_bgr=(float(balance[0]), float(balance[1]), float(balance[2])),
        gamma=float(rng.uniform(0.85, 1.2)),
        contrast=float(rng.uniform(0.9, 1.12)),
        lift=float(rng.uniform(2, 20)),
        saturation=float(rng.uniform(0.75, 1.2)),
        softness_px=float(rng.uniform(0.4, 1.05)),
        line_softness_px=float(rng.uniform(0.6, 1.4)),
        sharpening=float(rng.choice([0.0, rng.uniform(0.1, 0.9)], p=[0.35, 0.65])),
        grain=float(rng.uniform(0.2, 1.6)),
        vignette=float(rng.uniform(0, 0.18)),
        crf=int(rng.integers(22, 37)),
        interlaced=bool(rng.random() < 0.1),
    )


def _dress(rng: np.random.Generator, row: int, kits: tuple[Kit, Kit]) -> Wardrobe:
    skin = jitter(rng, pick(rng, SKIN), 8)
    role, team = role_of(row), team_of(row)
    if role is PlayerRole.REFEREE or team is None:
        return dress_referee(rng, skin)
    return (dress_goaltender if role is PlayerRole.GOALTENDER else dress_skater)(kits[team], rng, skin)
