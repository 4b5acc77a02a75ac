"""Whether what a library is made of can be reached: its catalog, its reports and its inbox.

Cheap, and safe to tell anybody.
"""

import threading
import time
from collections.abc import Callable, Mapping

from profiledb import confinement
from profiledb.config import Settings
from profiledb.errors import WarpdeckError
from profiledb.library import disk
from profiledb.library.library import Library

LOOK_S = 2.0
"""So long what was found counts, however many ask."""
OK = "ok"
MISSING = "missing"
UNSUPPORTED = "unsupported"
"""Of a kernel, which nobody has to mend."""
INBOX = "inbox"


class Health:
    """A look at a library that is taken anew after ``LOOK_S``, by one thread at a time: others get the last one.

    Args:
        library: gives the library; what it raises counts as a database that is missing.
        clock: seconds that never go back.
    """

    def __init__(self, library: Callable[[], Library], clock: Callable[[], float] = time.monotonic) -> None:
        self._library = library
        self._clock = clock
        self._lock = threading.Lock()
        self._looked: float | None = None
        self._found = {"database": MISSING, "store": MISSING}

    def parts(self) -> dict[str, str]:
        """``database`` and ``store``, each OK or MISSING; nobody has an answer before the first look is done.

        A store that can be read and takes nothing is ``full`` or ``read-only`` (disk.py).
        """
        if self._is_due() and self._lock.acquire(blocking=self._looked is None):
            try:
                if self._is_due():
                    self._found = self._look()
                    self._looked = self._clock()
            finally:
                self._lock.release()
        return dict(self._found)

    def _is_due(self) -> bool:
        return self._looked is None or self._clock() - self._looked >= LOOK_S

    def _look(self) -> dict[str, str]:
        try:
            library = self._library()
        except (WarpdeckError, OSError):
            return {"database": MISSING, "store": MISSING}
        return {"database": _of(lambda: _asked(library)), "store": _store(library)}


def confined() -> dict[str, str]:
    """Whether this kernel confines conversions and questions (Landlock); without it they run all the same."""
    return {"landlock": OK if confinement.version() >= 1 else UNSUPPORTED}


def _asked(library: Library) -> None:
    """Raises CatalogError where the catalog cannot be read now."""
    library.catalog.job("")


def shows(parts: Mapping[str, str]) -> bool:
    """Whether pages can be shown: a full disk, or an inbox that is away, keeps nobody from that."""
    return all(word != MISSING for part, word in parts.items() if part != INBOX)


def inbox(settings: Settings) -> dict[str, str]:
    """A word about the folder of an inbox; none about one in a bucket."""
    return {} if settings.inbox_url else {INBOX: OK if settings.inbox.is_dir() else MISSING}


def _store(library: Library) -> str:
    trouble = disk.look(library.folder)
    word = _of(library.check_reachable)
    return trouble.word if trouble and word == OK else word


def _of(look: Callable[[], None]) -> str:
    try:
        look()
    except (WarpdeckError, OSError):
        return MISSING
    return OK
