"""What takes long is worked out once for all sessions; whoever asks for it meanwhile waits for the same, aside."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from app import script_queue

Result = TypeVar("Result")


@dataclass
class _Entry(Generic[Result]):
    """A result, or none as long as it is worked out and where that failed."""

    ended: threading.Event = field(default_factory=threading.Event)
    results: list[Result] = field(default_factory=list)


class Once(Generic[Result]):
    """Results by key, up to so many: those that were asked for last. May be shared by threads.

    A result is everybody's, and nobody may change it. What fails is kept for nobody: the next one tries again.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, _Entry[Result]] = OrderedDict()

    def get(self, key: Hashable, work: Callable[[], Result]) -> Result:
        """The result of that key; ``work`` makes it where there is none, while other pages have their turn."""
        entry, mine = self._entry(key)
        if mine:
            with script_queue.page_scripts.step_aside():
                return self._make(key, entry, work)
        if not entry.ended.is_set():
            with script_queue.page_scripts.step_aside():
                entry.ended.wait()
        return entry.results[0] if entry.results else self.get(key, work)

    def _entry(self, key: Hashable) -> tuple[_Entry[Result], bool]:
        """What there is of a key, and whether the one who asks has to make it."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key], False
            entry = self._kept[key] = _Entry()
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)
            return entry, True

    def _make(self, key: Hashable, entry: _Entry[Result], work: Callable[[], Result]) -> Result:
        try:
            entry.results.append(work())
            return entry.results[0]
        finally:
            if not entry.results:
                with self._lock:
                    if self._kept.get(key) is entry:
                        del self._kept[key]
            entry.ended.set()
