"""A size-bounded cache of values derived from reports. Concurrent requests for one key compute its value once."""

import pickle
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import copy
from dataclasses import dataclass, field
from typing import Any, TypeVar

from profiledb.errors import WarpdeckError

MOST_BYTES = 16_000_000
"""Default size limit of a cache in bytes."""
_ENTRY_BYTES = 600
"""Overhead of an entry in bytes, besides its key and value: object headers and its slot in the OrderedDict."""

Value = TypeVar("Value")


@dataclass
class _Turn:
    lock: threading.Lock = field(default_factory=threading.Lock)
    waiting: int = 0


class SingleFlightCache:
    """A thread-safe LRU cache bounded by the total size of its values.

    Args:
        most_bytes: the limit in bytes. The most recently added value stays, whatever its size.
        aside: a context that the thread holds while it waits or computes, such as one that lets other page scripts run.
    """

    def __init__(
        self, most_bytes: int = MOST_BYTES, aside: Callable[[], AbstractContextManager[None]] = nullcontext
    ) -> None:
        self._most = most_bytes
        self._aside = aside
        self._lock = threading.Lock()
        self._entries: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._turns: dict[Hashable, _Turn] = {}
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def bytes(self) -> int:
        """Return the total size of the values and their keys."""
        return self._bytes

    def find(self, key: Hashable) -> Any:
        """Return the value of a key, or None if the key is not cached."""
        with self._lock:
            if key not in self._entries:
                return None
            self._entries.move_to_end(key)
            return self._entries[key][0]

    def put(self, key: Hashable, value: Value, size: int) -> Value:
        """Store a value of ``size`` bytes and return it."""
        size += _ENTRY_BYTES + len(pickle.dumps(key))
        with self._lock:
            if key in self._entries:
                self._bytes -= self._entries.pop(key)[1]
            self._entries[key] = (value, size)
            self._bytes += size
            while self._bytes > self._most and len(self._entries) > 1:
                self._bytes -= self._entries.popitem(last=False)[1][1]
        return value

    def shared(self, key: Hashable, make: Callable[[], tuple[Value, int]]) -> Value:
        """Return the shared value of a key, calling ``make`` for the value and its size in bytes if it is not cached.

        Callers must not mutate the value. Errors that ``make`` raises are not cached: the next caller tries again.
        """
        value: Value | None = self.find(key)
        if value is None:
            with self.turn(key):
                value = self.find(key)
                if value is None:
                    value = self.put(key, *make())
        return value

    def copy_of(self, key: Hashable, make: Callable[[], Value], keep: type[WarpdeckError] | None = None) -> Value:
        """Return a private copy of the value of a key; ``make`` computes it if it is not cached.

        Raises:
            WarpdeckError: raised by ``make``. Errors of the type ``keep`` are cached like values.
        """

        def pickled() -> tuple[bytes | WarpdeckError, int]:
            try:
                content = pickle.dumps(make(), protocol=pickle.HIGHEST_PROTOCOL)
            except WarpdeckError as error:
                if keep is None or not isinstance(error, keep):
                    raise
                return error.with_traceback(None), 0
            return content, len(content)

        entry = self.shared(key, pickled)
        if isinstance(entry, WarpdeckError):
            raise copy(entry)
        value: Value = pickle.loads(entry)  # noqa: S301 (pickled above, never out of this process)
        return value

    @contextmanager
    def turn(self, key: Hashable) -> Iterator[None]:
        """Let one thread at a time compute the value of a key; all of them enter the ``aside`` context."""
        with self._lock:
            turn = self._turns.setdefault(key, _Turn())
            turn.waiting += 1
        try:
            with self._aside(), turn.lock:
                yield
        finally:
            with self._lock:
                turn.waiting -= 1
                if not turn.waiting:
                    self._turns.pop(key, None)
