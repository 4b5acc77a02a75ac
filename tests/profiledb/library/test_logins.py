"""Logins in a file and in a team's database: each person has a generation, which logging out removes."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from profiledb.errors import CatalogError
from profiledb.library import logins
from profiledb.library.catalog import FILE, Catalog
from profiledb.library.database import Shared
from profiledb.library.logins import Logins
from profiledb.library.postgres import Postgres
from tests.support.postgres import Server


def test_a_generation_goes_with_the_last_login(catalog: Catalog) -> None:
    known = catalog.logins
    first = known.begin("edith", "Edith", 12)
    assert known.generation("edith") == first
    assert known.begin("edith", "Edith K.", 12) == first, "another browser of the same person"
    other = known.begin("victor", "Victor", 12)
    named = [("edith", "Edith K."), ("victor", "Victor")]  # the last one first, and both may be of one second
    assert sorted((one.person, one.name) for one in known.all()) == named
    assert known.end("edith")
    assert (known.generation("edith"), known.generation("victor")) == ("", other)
    assert not known.end("edith")
    again = known.begin("edith", "Edith", 12)
    assert len({first, other, again}) == 3


def test_another_process_hears_of_it(catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("profiledb.library.postgres.FRESH_S", 0)
    monkeypatch.setattr(logins, "FRESH_S", 0)
    other = Catalog(Postgres(catalog.shared.url) if catalog.shared else tmp_path / FILE)
    generation = catalog.logins.begin("edith", "Edith", 12)
    assert other.logins.generation("edith") == generation
    catalog.logins.end("edith")
    assert other.logins.generation("edith") == ""


def test_who_logged_in_long_ago_is_forgotten(catalog: Catalog) -> None:
    catalog.logins.begin("edith", "Edith", 12)
    long_ago = (datetime.now(UTC) - timedelta(hours=13)).isoformat(timespec="seconds")
    with catalog.transaction() as db:
        db.execute("UPDATE login SET at = ?", [long_ago])
    catalog.logins.begin("victor", "Victor", 1e300)
    assert {one.person for one in catalog.logins.all()} == {"edith", "victor"}
    catalog.logins.begin("victor", "Victor", 12)
    assert {one.person for one in catalog.logins.all()} == {"victor"}


def test_while_the_database_is_away_people_go_on(team: Shared, postgres: Server) -> None:
    known = Logins(lambda: team.connect("logins"), lambda: team.version("logins"))
    generation = known.begin("edith", "Edith", 12)
    assert known.generation("edith") == generation
    fresh = Logins(lambda: team.connect("logins"), lambda: team.version("logins"))
    postgres.stop()
    try:
        known._read_at = 0
        assert known.generation("edith") == generation
        assert known.generation("victor") == ""
        with pytest.raises(CatalogError):
            fresh.generation("edith")
        with pytest.raises(CatalogError):
            known.end("edith")
    finally:
        postgres.start()


def test_a_login_tells_lists_of_reports_nothing(team: Shared) -> None:
    catalog = Catalog(team)
    catalog.set_labels("x", ["y"])
    before = catalog.version()
    catalog.logins.begin("edith", "Edith", 12)
    catalog.audit.write("logged in")
    catalog.token_uses.note("0123456789ab")
    team._versions.clear()  # type: ignore[attr-defined]
    assert catalog.version() == before
