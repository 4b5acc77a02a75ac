"""Kernels: all of them, and one."""
