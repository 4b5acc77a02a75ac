"""The timeline of a report: its lanes, the content of a window of time at any zoom, and answers about an area."""
