"""Two reports: which kernels belong together, and which changes are more than scatter."""
