"""The Kernels page: all kernels of a report."""
