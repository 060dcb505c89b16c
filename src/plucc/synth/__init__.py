"""Rendered hockey broadcasts with exact truth: seeded matches, play, cameras, frames and clips."""
