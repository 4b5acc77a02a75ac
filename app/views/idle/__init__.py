"""The Idle page: why the GPU is idle, what kernel launches cost, and GPU metrics."""
