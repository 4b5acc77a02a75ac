"""Reports of profilers: their tables, the library that holds them, and the analyses that read them.

Imports no screen and no profiler: ``app`` shows and ``ingest`` converts, both through this package.
"""
