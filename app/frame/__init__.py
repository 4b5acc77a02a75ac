"""The frame of every page: the menu, and the bar with the report, its links and what to compare it with."""
