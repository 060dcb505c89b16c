"""How the shipped weights are made, as one run: from labelled frames to models and their figures."""
