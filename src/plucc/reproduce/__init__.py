"""Every table and figure of the paper on the data at hand, beside the published ones."""
