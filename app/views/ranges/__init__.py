"""Ranges: the tree of ranges, one range, steps."""
