"""Measurements: a generator of synthetic exports, and comparisons of Warpdeck with other tools."""
