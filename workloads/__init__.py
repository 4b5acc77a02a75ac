"""Programs worth profiling, with named ranges and known kernels.

`python -m workloads list` lists them and `python -m workloads run NAME` runs one. The package stands alone: it can be
copied to a GPU machine without the dashboard.
"""
