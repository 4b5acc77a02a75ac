"""Programs worth profiling, with named ranges and known kernels.

`python -m workloads list` lists them and `python -m workloads run NAME` runs one. The package needs
warpdeck.profiling alone: both can be copied to a GPU machine without the dashboard.
"""

from pathlib import Path

COMMAND = f"python -m {__name__}"
"""How the package is called: by its own name in a checkout or beside a program, as part of `warpdeck` if installed."""
PARENT = Path(__file__).resolve().parents[1 + __name__.count(".")]
"""The folder from which Python imports it."""
