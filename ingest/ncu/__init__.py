"""Reads what Nsight Compute writes."""
