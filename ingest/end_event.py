"""The event that ends a worker."""

import threading
from collections.abc import Callable


class EndEvent:
    """Event that ends the worker and then runs the registered actions."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._actions: list[Callable[[], None]] = []
        self.is_set = self._event.is_set
        self.wait = self._event.wait

    def set(self) -> None:
        """End the worker; any thread may call this, but no signal handler (command.py)."""
        self._event.set()
        for action in self._actions:
            action()

    def add_actions(self, *actions: Callable[[], None]) -> None:
        """Run actions at the end; at once if it has come already."""
        self._actions += actions
        if self.is_set():
            self.set()
