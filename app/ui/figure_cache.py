"""What pages build from equal values is built once: a rerun asks for the figures and tables that it had before.

Plotly checks every property of a figure, pandas looks at every cell of a table: both take longer than all that a page
asks.
"""

import hashlib
import pickle
import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

MOST_BYTES = 16_000_000
"""What all that is kept takes, in bytes."""
_BESIDES_BYTES = 500
"""What an entry takes besides the thing: its key, and its place in the OrderedDict."""
_FIGURE_BYTES = 55_000
"""What a figure takes besides the values that it was built from: its layout and the objects of its traces."""

P = ParamSpec("P")
Built = TypeVar("Built")


class _Shelf:
    """Things by what they were built from, up to so many bytes; may be shared by threads."""

    def __init__(self) -> None:
        self._things: OrderedDict[tuple[str, bytes], tuple[Any, int]] = OrderedDict()
        self._lock = threading.Lock()
        self._bytes = 0

    def find(self, key: tuple[str, bytes]) -> Any:
        with self._lock:
            if key not in self._things:
                return None
            self._things.move_to_end(key)
            return self._things[key][0]

    def put(self, key: tuple[str, bytes], thing: Any, size: int) -> None:
        with self._lock:
            self._bytes += size - self._things.pop(key, (None, 0))[1]
            self._things[key] = (thing, size)
            while self._bytes > MOST_BYTES and len(self._things) > 1:
                self._bytes -= self._things.popitem(last=False)[1][1]

    def size_bytes(self) -> int:
        return self._bytes


_shelf = _Shelf()


def size_bytes() -> int:
    """Return the size of the figures and tables that are kept."""
    return _shelf.size_bytes()


def kept(build: Callable[P, Built]) -> Callable[P, Built]:
    """Has a function answer what it built before from equal values; nobody may change what is kept.

    Its arguments hold all that it depends on: frames, plain values and dataclasses of these. It never answers None.
    Frames are answered pickled: their objects take six times as much.
    """
    name = f"{build.__module__}.{build.__qualname__}"

    @wraps(build)
    def found(*args: P.args, **values: P.kwargs) -> Built:
        content = pickle.dumps((args, values), protocol=5)
        key = (name, hashlib.sha256(content).digest())
        before: Built | None = _shelf.find(key)
        if before is not None:
            return before
        built = build(*args, **values)
        size = len(built) if isinstance(built, bytes) else len(content) + _FIGURE_BYTES
        _shelf.put(key, built, size + _BESIDES_BYTES)
        return built

    return found
