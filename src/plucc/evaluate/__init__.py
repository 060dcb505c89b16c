"""A model or a table of rows beside the labels of a dataset: tables with intervals, plots, galleries, one report."""
