"""Kernel profiles: what Nsight Compute measured of each launch."""
