"""Once an hour the worker announces removals, and carries them out some days later."""

from pathlib import Path

import pytest

from ingest.retention import EVERY_S, RetentionRunner
from profiledb import config
from profiledb.library.library import Library
from tests.conftest import wait_until
from tests.profiledb.library.test_library import publish


def test_it_looks_once_an_hour(empty_library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rules.toml").write_text("[[rule]]\ndays = 30\n")
    monkeypatch.setenv("WARPDECK_RETENTION", str(tmp_path / "rules.toml"))
    now = [0.0]
    retention = RetentionRunner(config.load(library=empty_library.folder, inbox=tmp_path), clock=lambda: now[0])
    removals = empty_library.catalog.removals
    publish(empty_library, "aaaa000000000001")  # taken in on 2026-01-01
    retention.run_if_due()
    wait_until(lambda: bool(removals.announced()))
    assert empty_library.list()
    with empty_library.catalog.transaction() as db:  # as if three days had passed
        db.execute("UPDATE removal SET announced_at = '2026-11-01T00:00:00+00:00'")
    now[0] = EVERY_S - 1
    retention.run_if_due()
    assert empty_library.list()
    now[0] = EVERY_S

    def is_gone() -> bool:
        retention.run_if_due()  # not while the first process still ends
        return not empty_library.list()

    wait_until(is_gone)
    assert [one.who for one in empty_library.catalog.audit.entries(action="deleted")] == ["worker"]
    retention.stop()
