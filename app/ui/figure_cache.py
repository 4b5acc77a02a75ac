"""Cache for figures and tables: a rerun with equal inputs reuses the result.

Plotly validates every property of a figure, and pandas touches every cell of a table. Both take longer than all queries
of a page.
"""

import hashlib
import pickle
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from profiledb.query.single_flight_cache import SingleFlightCache

_FIGURE_BYTES = 55_000
"""Size of a figure in addition to its input values: layout and trace objects."""

P = ParamSpec("P")
Built = TypeVar("Built")
_FIGURES = SingleFlightCache()


def count_bytes() -> int:
    """Return the size of the cached figures and tables in bytes."""
    return _FIGURES.bytes


def cache_figure(build: Callable[P, Built]) -> Callable[P, Built]:
    """Cache a function by the values of its arguments. Results are shared: do not mutate them.

    The function must depend on its arguments alone (frames, plain values, dataclasses of these) and never return None.
    Functions that build frames return them pickled: the objects take six times as much memory.
    """
    name = f"{build.__module__}.{build.__qualname__}"

    @wraps(build)
    def find_or_build(*args: P.args, **values: P.kwargs) -> Built:
        content = pickle.dumps((args, values), protocol=5)

        def make() -> tuple[Built, int]:
            built = build(*args, **values)
            return built, len(built) if isinstance(built, bytes) else len(content) + _FIGURE_BYTES

        return _FIGURES.shared((name, hashlib.sha256(content).digest()), make)

    return find_or_build
