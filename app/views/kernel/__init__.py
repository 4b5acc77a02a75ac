"""The Kernel page: one kernel in detail."""
