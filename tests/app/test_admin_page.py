"""The page "Admin": what retention has announced, and the audit by month."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from app.web import access
from app.web.roles import Standing
from profiledb.library.library import Library
from profiledb.library.removals import Removal
from tests.app.conftest import Dashboard, plain_texts
from tests.profiledb.studies.trends.test_series import filled

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)


@pytest.fixture
def library(empty: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    monkeypatch.setattr(access, "get_standing", lambda: Standing.ADMIN)
    return filled(Library(empty / "library"), 2)


def test_what_retention_removes_is_told_before(
    dashboard: Dashboard, library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Nothing is ever removed" in plain_texts(dashboard("admin"))
    (tmp_path / "rules.toml").write_text("notice_days = 7\n[[rule]]\ndays = 30\n")
    monkeypatch.setenv("WARPDECK_RETENTION", str(tmp_path / "rules.toml"))
    assert "Nothing is about to be removed" in plain_texts(dashboard("admin"))
    coming = Removal("report", f"{1:016x}", "<b>a\x1b.rep", "older than 30 days", 2_000_000)
    library.catalog.removals.announce([coming], NOW)
    at = dashboard("admin")
    assert not at.exception
    assert "Rules: reports older than 30 days" in plain_texts(at)
    assert "announced 7 days before" in plain_texts(at)
    (table,) = (one.value for one in at.dataframe if "why" in one.value)
    assert table["from"].tolist() == ["2026-11-30 12:00"]
    assert "about to remove 1 report (2" in plain_texts(dashboard("library"))


def test_the_audit_is_read_by_month(dashboard: Dashboard, library: Library) -> None:
    with library.catalog.transaction() as db:
        db.execute("UPDATE audit SET at = '2026-03-05T00:00:00+00:00' WHERE report_id = ?", [f"{1:016x}"])
    table = dashboard("admin", month="2026-03").dataframe[0].value
    assert table["at"].tolist() == ["2026-03-05 00:00:00"]
    assert len(dashboard("admin").dataframe[0].value) == 2
