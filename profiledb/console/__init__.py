"""Questions in SQL about a report: read-only, in a process of their own, within limits."""
