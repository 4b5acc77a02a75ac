"""Library: every report, what is on its way, what failed and why."""
