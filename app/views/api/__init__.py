"""API: what the program called, how long it took, and what it waited for."""
