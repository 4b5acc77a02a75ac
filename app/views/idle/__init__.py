"""Idle: why the GPU is idle, what launches cost, GPU metrics."""
