"""What pages build from equal values is built once: a rerun asks for the figures and tables that it had before.

Plotly checks every property of a figure, pandas looks at every cell of a table: both take longer than all that a page
asks.
"""

import hashlib
import pickle
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from profiledb.query.single_flight_cache import SingleFlightCache

_FIGURE_BYTES = 55_000
"""What a figure takes besides the values that it was built from: its layout and the objects of its traces."""

P = ParamSpec("P")
Built = TypeVar("Built")
_FIGURES = SingleFlightCache()


def size_bytes() -> int:
    """Return the size of the figures and tables that are kept."""
    return _FIGURES.bytes


def kept(build: Callable[P, Built]) -> Callable[P, Built]:
    """Has a function answer what it built before from equal values; nobody may change what is kept.

    Its arguments hold all that it depends on: frames, plain values and dataclasses of these. It never answers None.
    Frames are answered pickled: their objects take six times as much.
    """
    name = f"{build.__module__}.{build.__qualname__}"

    @wraps(build)
    def found(*args: P.args, **values: P.kwargs) -> Built:
        content = pickle.dumps((args, values), protocol=5)

        def make() -> tuple[Built, int]:
            built = build(*args, **values)
            return built, len(built) if isinstance(built, bytes) else len(content) + _FIGURE_BYTES

        return _FIGURES.shared((name, hashlib.sha256(content).digest()), make)

    return found
