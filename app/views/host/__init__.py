"""Host: the work of the CPU."""
