"""The rink: sheets in metres, homographies of the ice, and pan-tilt-zoom cameras.

Metres, origin at centre ice, x to the right and y away as seen from the main camera's side, z up.
"""
