"""A run is all ranks of one job: which reports belong to it, who waits for whom, and why.

Everything is computed from a summary of each rank, which the worker makes with that of its report (``rank_summary``);
no report is opened for a run.
"""
