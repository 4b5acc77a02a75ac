"""The Trends page: series of reports over weeks, where they changed, and why."""
