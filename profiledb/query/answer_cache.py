"""Answers for all sessions of a process: each is worked out once, however many ask for it at the same time."""

import pickle
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from profiledb.errors import NotCapturedError
from profiledb.library.library import Library
from profiledb.monitoring import counters
from profiledb.query import analysis, answer_groups, answer_store
from profiledb.query.request import Request

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

MOST_BYTES = 16_000_000
"""What the answers in memory may take."""
_ENTRY_BYTES = 600
"""What an answer takes besides its rows and its key: headers of objects, and its place in the OrderedDict."""

_Answer = bytes | NotCapturedError
"""A pickled frame, or why there is none: a report never gets what it lacks. A frame in memory would keep weak
references to whatever was read of it (pandas' copy-on-write), more with every reader, and nobody could say its size."""


@dataclass
class _Turn:
    lock: threading.Lock = field(default_factory=threading.Lock)
    waiting: int = 0


class Answers:
    """Answers in memory, up to so many bytes, with those on disk behind them. May be shared by threads.

    Everybody who asks gets a frame of their own. What is not in memory is waited for under ``aside``, in which the
    thread may let go of what others need.
    """

    def __init__(
        self, most_bytes: int = MOST_BYTES, aside: Callable[[], AbstractContextManager[None]] = nullcontext
    ) -> None:
        self._most = most_bytes
        self._aside = aside
        self._lock = threading.Lock()
        self._entries: OrderedDict[Hashable, tuple[_Answer, int]] = OrderedDict()
        self._turns: dict[Hashable, _Turn] = {}
        self._bytes = 0

    @property
    def bytes(self) -> int:
        """What the answers in memory take."""
        return self._bytes

    def answer(self, library: Library, asked: Request) -> "pd.DataFrame":
        """What ``analysis.run`` returns for a request, and raises.

        Where others build on the same rows (answer_groups.py), theirs are worked out with it.
        """
        key = asked.key(library)
        found = self._find(key)
        if found is not None:
            counters.ANSWERS.add("memory")
        else:
            several = answer_groups.members(asked)
            with self._aside(), self._turn(answer_groups.key(library, several) if several else key):
                found = self._find(key)
                if found is None:
                    found = self._work_out(library, asked, several)
                else:
                    counters.ANSWERS.add("memory")  # answered while this one waited for its turn
        if isinstance(found, NotCapturedError):
            raise copy(found)
        rows: pd.DataFrame = pickle.loads(found)  # noqa: S301 (pickled below, never out of this process)
        return rows

    def _work_out(self, library: Library, asked: Request, several: tuple[Request, ...]) -> _Answer:
        """Reads an answer from the disk, else works it out and keeps it, with all that are answered together."""
        rows = answer_store.read(library, asked)
        counters.ANSWERS.add("worked out" if rows is None else "disk")
        if rows is not None:
            return self._put(asked.key(library), _pickled(rows))
        try:
            return self._of_several(library, asked, several) if several else self._alone(library, asked)
        except NotCapturedError as error:
            return self._put(asked.key(library), error.with_traceback(None))

    def _alone(self, library: Library, asked: Request) -> _Answer:
        rows = analysis.rows(library, asked)
        answer_store.write(library, asked, rows)
        return self._put(asked.key(library), _pickled(rows))

    def _of_several(self, library: Library, asked: Request, several: tuple[Request, ...]) -> _Answer:
        """The answers of a group; one that the report has not the data for is not worth the others."""
        analysis.check(library, asked)
        for one, rows in zip(several, answer_groups.rows(library, several), strict=True):
            if rows is not None:
                answer_store.write(library, one, rows)
                self._put(one.key(library), _pickled(rows))
        found = self._find(asked.key(library))
        return self._alone(library, asked) if found is None else found

    def _find(self, key: Hashable) -> _Answer | None:
        with self._lock:
            if key not in self._entries:
                return None
            self._entries.move_to_end(key)
            return self._entries[key][0]

    def _put(self, key: Hashable, answer: _Answer) -> _Answer:
        size = _ENTRY_BYTES + len(pickle.dumps(key)) + (len(answer) if isinstance(answer, bytes) else 0)
        with self._lock:
            if key in self._entries:
                self._bytes -= self._entries.pop(key)[1]
            self._entries[key] = (answer, size)
            self._bytes += size
            while self._bytes > self._most and len(self._entries) > 1:
                self._bytes -= self._entries.popitem(last=False)[1][1]
        return answer

    @contextmanager
    def _turn(self, key: Hashable) -> Iterator[None]:
        """Lets one thread at a time work out what belongs to a key; others wait."""
        with self._lock:
            turn = self._turns.setdefault(key, _Turn())
            turn.waiting += 1
        try:
            with turn.lock:
                yield
        finally:
            with self._lock:
                turn.waiting -= 1
                if not turn.waiting:
                    self._turns.pop(key, None)


def _pickled(rows: "pa.Table") -> bytes:
    return pickle.dumps(analysis.frame_of(rows), protocol=pickle.HIGHEST_PROTOCOL)
