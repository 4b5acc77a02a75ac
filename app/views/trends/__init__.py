"""Trends: series of reports over weeks, where they changed, and what by."""
