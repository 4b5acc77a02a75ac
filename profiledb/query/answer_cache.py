"""An in-memory answer cache for all sessions of a process. Concurrent requests for one answer compute it once."""

import pickle
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from typing import TYPE_CHECKING

from profiledb.errors import NotCapturedError
from profiledb.library.library import Library
from profiledb.monitoring import counters
from profiledb.query import analysis, answer_store
from profiledb.query.request import Request
from profiledb.query.single_flight_cache import MOST_BYTES, SingleFlightCache

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_Answer = bytes | NotCapturedError
"""A pickled frame, or the error that says what the report lacks, which never changes. A frame kept in memory would
collect weak references from every reader (pandas' copy-on-write), and its size could not be measured."""


class Answers:
    """An in-memory cache of answers, backed by the answers on disk. Thread-safe.

    Every caller gets its own copy of a frame. ``cache`` may also hold other values derived from reports
    (``SingleFlightCache.copy_of``).
    """

    def __init__(
        self, most_bytes: int = MOST_BYTES, aside: Callable[[], AbstractContextManager[None]] = nullcontext
    ) -> None:
        self.cache = SingleFlightCache(most_bytes, aside)

    def answer(self, library: Library, asked: Request) -> "pd.DataFrame":
        """Return the answer to a request. Raises the same errors as ``analysis.run``."""
        key = asked.key(library)
        entry = self.cache.find(key)
        if entry is not None:
            counters.ANSWERS.add("memory")
        else:
            with self.cache.turn(key):
                entry = self.cache.find(key)
                if entry is None:
                    entry = self._work_out_answer(library, asked)
                else:
                    counters.ANSWERS.add("memory")  # another thread answered it in the meantime
        if isinstance(entry, NotCapturedError):
            raise copy(entry)
        rows: pd.DataFrame = pickle.loads(entry)  # noqa: S301 (pickled below, never out of this process)
        return rows

    def _work_out_answer(self, library: Library, asked: Request) -> _Answer:
        """Read an answer from disk, or compute and store it."""
        rows = answer_store.read(library, asked)
        counters.ANSWERS.add("worked out" if rows is None else "disk")
        if rows is not None:
            return self._put_answer(library, asked, _pickle_rows(rows))
        try:
            rows = analysis.read_rows(library, asked)
        except NotCapturedError as error:
            return self._put_answer(library, asked, error.with_traceback(None))
        answer_store.write(library, asked, rows)
        return self._put_answer(library, asked, _pickle_rows(rows))

    def _put_answer(self, library: Library, asked: Request, answer: _Answer) -> _Answer:
        return self.cache.put(asked.key(library), answer, len(answer) if isinstance(answer, bytes) else 0)


def _pickle_rows(rows: "pa.Table") -> bytes:
    return pickle.dumps(analysis.convert_frame(rows), protocol=pickle.HIGHEST_PROTOCOL)
