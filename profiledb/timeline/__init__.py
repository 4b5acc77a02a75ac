"""The timeline of a report: its lanes, what a window of time holds at any zoom, and answers about a part of it."""
