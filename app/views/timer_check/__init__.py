"""The Timings page: the program's own timers beside the report."""
