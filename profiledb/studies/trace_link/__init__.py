"""Match the kernels of a Systems report and of a PyTorch profiler trace of the same program."""
