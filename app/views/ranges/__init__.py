"""Ranges: the tree of NVTX ranges, one range, steps."""
