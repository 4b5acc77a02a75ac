"""Health of a library: whether its catalog, its reports and its inbox can be reached. Cheap, and safe to publish."""

import threading
import time
from collections.abc import Callable, Mapping

from profiledb import confinement
from profiledb.config import Settings
from profiledb.errors import WarpdeckError
from profiledb.library import disk
from profiledb.library.library import Library

LOOK_S = 2.0
"""Seconds for which a result is reused, however many ask."""
OK = "ok"
MISSING = "missing"
UNSUPPORTED = "unsupported"
"""State of a kernel without Landlock, which needs no repair."""
INBOX = "inbox"


class Health:
    """Checks a library at most every ``LOOK_S``, in one thread at a time; other threads get the last result.

    Args:
        library: returns the library; an error counts as a missing database.
        clock: monotonic seconds.
    """

    def __init__(self, library: Callable[[], Library], clock: Callable[[], float] = time.monotonic) -> None:
        self._library = library
        self._clock = clock
        self._lock = threading.Lock()
        self._looked: float | None = None
        self._states = {"database": MISSING, "store": MISSING}

    def parts(self) -> dict[str, str]:
        """Return the states of ``database`` and ``store``, each OK or MISSING; the first call waits for the first
        check.

        A store that can be read but not written is ``full`` or ``read-only`` (disk.py).
        """
        if self._is_due() and self._lock.acquire(blocking=self._looked is None):
            try:
                if self._is_due():
                    self._states = self._check_parts()
                    self._looked = self._clock()
            finally:
                self._lock.release()
        return dict(self._states)

    def _is_due(self) -> bool:
        return self._looked is None or self._clock() - self._looked >= LOOK_S

    def _check_parts(self) -> dict[str, str]:
        try:
            library = self._library()
        except (WarpdeckError, OSError):
            return {"database": MISSING, "store": MISSING}
        return {"database": _run_check(lambda: _read_catalog(library)), "store": _check_store(library)}


def check_confinement() -> dict[str, str]:
    """Return whether this kernel confines conversions and questions (Landlock); without it they run all the same."""
    return {"landlock": OK if confinement.read_version() >= 1 else UNSUPPORTED}


def _read_catalog(library: Library) -> None:
    """Raise CatalogError if the catalog cannot be read now."""
    library.catalog.job("")


def can_show_pages(states: Mapping[str, str]) -> bool:
    """Return True if pages can be shown: they can on a full disk and without the inbox."""
    return all(word != MISSING for part, word in states.items() if part != INBOX)


def check_inbox(settings: Settings) -> dict[str, str]:
    """Return the state of an inbox folder; nothing for a bucket."""
    return {} if settings.inbox_url else {INBOX: OK if settings.inbox.is_dir() else MISSING}


def _check_store(library: Library) -> str:
    trouble = disk.find_trouble(library.folder)
    word = _run_check(library.check_reachable)
    return trouble.word if trouble and word == OK else word


def _run_check(look: Callable[[], None]) -> str:
    try:
        look()
    except (WarpdeckError, OSError):
        return MISSING
    return OK
