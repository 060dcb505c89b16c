"""How good predictions are: pure functions by theme, their bootstrap intervals, and accumulators for training.

Predicted and labelled points are (n, 2) arrays in each frame's own pixels; a row of NaN means no prediction, or no
puck. Functions that need the frame's size take its height, or (width, height) rows. `frames.ScoredFrames` holds all of
it together, and `figures.measure` turns it into a table.
"""
