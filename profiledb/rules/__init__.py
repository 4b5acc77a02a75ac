"""Configurable rules: kernel classes, phases, series of reports, and retention."""
