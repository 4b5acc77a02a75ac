"""Trends: changes over the reports of a series."""
