"""Many clients ask at once whether a library can be reached."""

import threading
from pathlib import Path

from profiledb.library.health import Health
from profiledb.library.library import Library

WELL = {"database": "ok", "store": "ok"}


def test_who_asks_during_the_first_look_waits_for_it(tmp_path: Path) -> None:
    library, begun, go_on = Library(tmp_path), threading.Event(), threading.Event()
    opened: list[Library] = []

    def slow() -> Library:
        opened.append(library)
        begun.set()
        go_on.wait(10)
        return library

    health, found = Health(slow), []
    asking = [threading.Thread(target=lambda: found.append(health.parts())) for _ in range(2)]
    asking[0].start()
    begun.wait(10)
    asking[1].start()
    asking[1].join(0.1)
    go_on.set()
    for one in asking:
        one.join(10)
    assert (found, len(opened)) == ([WELL, WELL], 1)
