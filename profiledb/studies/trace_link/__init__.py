"""A Systems report and a trace of the PyTorch profiler of the same program: which kernels are the same."""
