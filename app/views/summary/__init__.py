"""The Summary page: the first advice, the GPU's time, findings and top kernels."""
