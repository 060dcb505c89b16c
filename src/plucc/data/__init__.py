"""Labelled frames: the record and its manifest, splits by match, importers and exporters."""
