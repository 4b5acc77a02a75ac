"""A report that arrives from a bucket while somebody waits for it."""

import threading

import pytest

from app import session
from app.ui import bucket_wait
from profiledb.report.manifest import Manifest


class LeftError(Exception):
    """As Streamlit ends the script of a page that was left."""


class Shelf:
    """A library whose report never arrives by itself."""

    def __init__(self) -> None:
        self.may_arrive = threading.Event()
        self.arrived = threading.Event()

    def is_here(self, _: str) -> bool:
        return False

    def fetch(self, _: str) -> None:
        self.may_arrive.wait(5)
        self.arrived.set()

    def fetched_bytes(self, _: str) -> tuple[int, int]:
        raise LeftError


def test_a_page_can_be_left_while_its_report_arrives(monkeypatch: pytest.MonkeyPatch) -> None:
    shelf = Shelf()
    monkeypatch.setattr(session, "library", lambda: shelf)
    monkeypatch.setattr(bucket_wait, "MOMENT_S", 0.0)
    with pytest.raises(LeftError):
        bucket_wait.bring(Manifest("a" * 16, 1, "x", "nsys", "a" * 64, 1))
    assert not shelf.arrived.is_set()
    shelf.may_arrive.set()
    assert shelf.arrived.wait(5), "it still arrives, for the next visitor"
