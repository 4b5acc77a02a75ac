"""Conversion of profilers' files to reports of the library.

The only package that runs nsys and ncu.
"""
