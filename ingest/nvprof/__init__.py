"""Databases of nvprof and the Visual Profiler."""
