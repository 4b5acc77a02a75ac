"""A real PostgreSQL hangs: its callers get an error in time, later ones at once, and afterward all goes on."""

import time
from collections.abc import Iterator

import pytest

from profiledb.errors import CatalogError
from profiledb.library import postgres as module
from profiledb.library.postgres import Postgres
from tests.conftest import wait_until
from tests.support.postgres import Server

PATIENCE_S = 0.5


@pytest.fixture
def shared(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Postgres]:
    monkeypatch.setattr(module, "CONNECT_S", PATIENCE_S)
    monkeypatch.setattr(module, "PATIENCE_S", PATIENCE_S)
    shared = Postgres(postgres.create())
    yield shared
    postgres.go_on()
    shared.close()


def count(shared: Postgres) -> int:
    with shared.connect() as db:
        return int(db.execute("SELECT count(*) FROM report").fetchone()[0])


def seconds(shared: Postgres) -> float:
    """How long it takes to hear that the database cannot be reached."""
    begun = time.monotonic()
    with pytest.raises(CatalogError, match="cannot be reached"):
        count(shared)
    return time.monotonic() - begun


def answers(shared: Postgres) -> bool:
    try:
        return count(shared) == 0
    except CatalogError:
        return False


def test_one_waits_and_others_hear_at_once(shared: Postgres, postgres: Server) -> None:
    known = shared.version()
    postgres.pause()
    assert seconds(shared) >= PATIENCE_S
    assert max(seconds(shared) for _ in range(20)) < PATIENCE_S
    assert shared.version() == known, "what is in memory goes on to be shown"
    postgres.go_on()
    wait_until(lambda: answers(shared))


def test_a_transaction_that_it_leaves_open_is_given_up(shared: Postgres, postgres: Server) -> None:
    columns = "report_id, name, bytes, sha256, time_ns, damaged"

    def write() -> None:
        with shared.connect() as db:
            db.execute(f"INSERT INTO stored_file ({columns}) VALUES ('a', 'b', 1, '', 1, 0)")
            postgres.pause()
            db.execute("SELECT 1")

    with pytest.raises(CatalogError, match="cannot be reached"):
        write()
    postgres.go_on()
    wait_until(lambda: answers(shared))
    with shared.connect() as db:
        assert db.execute("SELECT count(*) FROM stored_file").fetchone()[0] == 0


def test_a_reader_opens_no_transaction_and_a_lock_does(shared: Postgres) -> None:
    """Read what other connections of this database are in the middle of."""
    states = "SELECT state FROM pg_stat_activity WHERE datname = current_database() AND pid != pg_backend_pid()"

    def list_states() -> set[str]:
        with shared.connect() as other:
            return {row[0] for row in other.execute(f"{states} AND state IS NOT NULL").fetchall()}

    with shared.connect() as db:
        db.execute("SELECT count(*) FROM report")
        assert list_states() == {"idle"}
        db.execute("SELECT pg_advisory_xact_lock(?)", [1])
        assert list_states() == {"idle in transaction"}
    assert list_states() == {"idle"}
