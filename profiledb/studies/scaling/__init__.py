"""Runs of one program on several numbers of GPUs."""
