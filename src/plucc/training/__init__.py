"""Records to batches, batches to weights: everything that `plucc train` does."""
