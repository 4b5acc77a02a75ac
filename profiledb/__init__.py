"""What a report is: its tables, the library that holds reports, and the analyses that read them.

Knows no screen and no profiler: ``app`` shows and ``ingest`` converts, both through this package.
"""
