"""Figures are built once: Plotly checks every property of each, which takes longer than all that a page asks."""

import hashlib
import pickle
import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

import plotly.graph_objects as go

MOST_BYTES = 64_000_000
"""What the figures that are kept were built from, in bytes; they take about as much."""

P = ParamSpec("P")


class _Shelf:
    """Figures by what they were built from, up to so many bytes; may be shared by threads."""

    def __init__(self) -> None:
        self._figures: OrderedDict[tuple[str, bytes], tuple[go.Figure, int]] = OrderedDict()
        self._lock = threading.Lock()
        self._bytes = 0

    def find(self, key: tuple[str, bytes]) -> go.Figure | None:
        with self._lock:
            if key not in self._figures:
                return None
            self._figures.move_to_end(key)
            return self._figures[key][0]

    def put(self, key: tuple[str, bytes], figure: go.Figure, size: int) -> None:
        with self._lock:
            self._bytes += size - self._figures.pop(key, (None, 0))[1]
            self._figures[key] = (figure, size)
            while self._bytes > MOST_BYTES and len(self._figures) > 1:
                self._bytes -= self._figures.popitem(last=False)[1][1]


_shelf = _Shelf()


def kept(build: Callable[P, go.Figure]) -> Callable[P, go.Figure]:
    """Has a function answer the figure that it built before from equal values; nobody may change a figure that is kept.

    Its arguments hold all that the figure depends on: frames, plain values and dataclasses of these.
    """
    name = f"{build.__module__}.{build.__qualname__}"

    @wraps(build)
    def found(*args: P.args, **values: P.kwargs) -> go.Figure:
        content = pickle.dumps((args, values), protocol=5)
        key = (name, hashlib.sha256(content).digest())
        figure = _shelf.find(key)
        if figure is None:
            figure = build(*args, **values)
            _shelf.put(key, figure, len(content) + 20_000)
        return figure

    return found
