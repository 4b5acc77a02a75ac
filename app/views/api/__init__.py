"""API: calls of the program, their durations, and the time it spent waiting in them."""
