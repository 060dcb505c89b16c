"""Finds the puck in ice-hockey broadcast video."""
