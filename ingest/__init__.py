"""Conversions: from the files that profilers write to reports in the library.

The only package that runs nsys and ncu.
"""
