"""An open report in a bucket stays readable while the team's database is away."""

from pathlib import Path

import pytest

from app import session
from bench import team_queue
from profiledb.library import postgres as module
from profiledb.library.database import Shared
from tests.app.conftest import Dashboard
from tests.conftest import wait_until
from tests.support import ingestion
from tests.support.postgres import Server
from tests.support.s3 import S3


@pytest.fixture
def reports(team: Shared, s3: S3, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids of two reports; every look whether the catalog has changed is a new one."""
    given = {
        "WARPDECK_DATA": str(tmp_path),
        "WARPDECK_DATABASE": team.url,
        "WARPDECK_LIBRARY": s3.url(),
        "WARPDECK_WORKER": "off",
    }
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(module, "FRESH_S", 0.0)
    team_queue.write_traces(tmp_path / "inbox", 2)
    ingestion.once(["--inbox", str(tmp_path / "inbox")], given)
    return [one.id for one in session.list_page()]


@pytest.mark.slow("the database is away for seconds")
def test_an_open_report_goes_on_and_others_say_what_is_missing(
    reports: list[str], dashboard: Dashboard, postgres: Server
) -> None:
    opened, other = reports
    wait_until(lambda: bool(dashboard("kernels", report=opened).dataframe))  # first it is fetched
    postgres.stop()
    try:
        shown = dashboard("kernels", report=opened)
        missing = dashboard("kernels", report=other)
    finally:
        postgres.start()
    assert shown.dataframe
    assert not shown.error
    assert not missing.dataframe
    assert "database cannot be reached" in missing.error[0].value
    wait_until(lambda: bool(dashboard("kernels", report=other).dataframe))
