"""Timings: what the program's own timers say beside the report."""
