"""Kernel: one kernel in detail."""
