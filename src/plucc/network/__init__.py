"""The PLUCC network and its baselines, in torch."""
