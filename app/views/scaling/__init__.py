"""Scaling: the same program on more GPUs."""
