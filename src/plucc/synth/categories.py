"""What makes a rendered frame hard, told from its truth."""

from plucc.synth.match import Match
from plucc.synth.render import MOSTLY_HIDDEN, Rendered
from plucc.synth.scene import BLURRY_LENGTHS, Scene, before_kick_plate, fits, on_goal_line, smear_lengths
from plucc.types import Category


def categorise(rendered: Rendered, scene: Scene, match: Match) -> Category:
    """Return the category of a frame that was not made to order; the first that applies, in this order."""
    if rendered.puck is None:
        return Category.NO_PUCK
    tests = (
        (Category.ARTIFACT, scene.graphics.wipe is not None),
        (Category.OCCLUDED, rendered.puck.visible_fraction <= MOSTLY_HIDDEN),
        (Category.BLURRY, smear_lengths(scene) >= BLURRY_LENGTHS),
        (Category.GOAL_LINE, on_goal_line(scene, match)),
        (Category.YELLOW_LINE, before_kick_plate(scene, match)),
    )
    return next((category for category, applies in tests if applies), Category.STANDARD)


def category_of(rendered: Rendered, scene: Scene, match: Match) -> Category:
    """Return the category that a frame was made for, or what it is instead when chance did not give what was asked."""
    if rendered.puck is None:
        return Category.NO_PUCK
    hidden = rendered.puck.visible_fraction <= MOSTLY_HIDDEN
    kept = {
        Category.NO_PUCK: False,
        Category.ARTIFACT: True,
        Category.OCCLUDED: hidden,
    }.get(scene.category, not hidden and fits(scene, match))
    return scene.category if kept else categorise(rendered, scene, match)
