"""How high a puck may be: one view cannot tell, but the faster it goes over the ice the likelier it flies.

A puck in the air shows where the ice further off is, so its height is part of the error of its place. The table is the
root mean square height over the ice in rendered play, by the speed at which the puck's place on the ice moves. Most
pucks of every row lie on the ice and few are high: as a spread this is right on average, for a single puck in the air
it is too small.
"""

HEIGHT_SIGMA_M = 0.22  # where the speed is not known: single pictures, of which one in twelve shows a puck in the air
# from this speed on, m/s, and the root mean square height
HEIGHT_BY_SPEED = ((0.0, 0.03), (14.0, 0.045), (22.0, 0.17), (26.0, 0.25))


def height_sigma_m(speed_m_s: float | None) -> float:
    """Return how high, in metres, a puck may be whose place on the ice moves at a speed; None where that is unknown."""
    if speed_m_s is None:
        return HEIGHT_SIGMA_M
    return max((start, sigma) for start, sigma in HEIGHT_BY_SPEED if start <= speed_m_s or start == 0.0)[1]
