"""Names of CUDA's functions by the number that CUPTI gives them: line N of a file is function N."""

from functools import cache
from importlib import resources
from typing import Literal


def name_function(api: Literal["runtime", "driver"], number: int) -> str:
    """Return the name of a function without its version, or its number if CUPTI of CUDA 13.0 has none."""
    names = _read_names(api)
    return names[number - 1] if 0 < number <= len(names) else f"{api} function {number}"


@cache
def _read_names(api: str) -> tuple[str, ...]:
    return tuple(resources.files("ingest.nvprof").joinpath(f"{api}_functions.txt").read_text("utf-8").split())
