"""Roofline: of measured launches, and of the time of a Systems report."""
