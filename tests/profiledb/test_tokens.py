"""Tokens expire after some days unless somebody says otherwise; those of an earlier version, from the upgrade on."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from profiledb.access.operations.tokens import Token, Tokens, open_tokens
from profiledb.config import load
from profiledb.errors import AnalysisError
from profiledb.library import migrations, token_uses
from profiledb.library.catalog import Catalog
from profiledb.library.postgres import Postgres
from tests.support.postgres import Server
from warpdeck.main import main


def days_left(token: Token) -> float:
    assert token.ends_at
    return (datetime.fromisoformat(token.ends_at) - datetime.now(UTC)) / timedelta(days=1)


def end(tokens: Tokens, catalog: Catalog, name: str) -> None:
    """Has a token end a second ago, as time does."""
    past = (datetime.now(UTC) - timedelta(seconds=1)).isoformat(timespec="seconds")
    if catalog.shared:
        with catalog.transaction() as db:
            db.execute("UPDATE token SET ends_at = ? WHERE name = ?", [past, name])
        return
    told = json.loads(tokens._file.read_text())
    tokens._file.write_text(json.dumps([one | ({"ends_at": past} if one["name"] == name else {}) for one in told]))


def test_a_token_ends_when_it_was_told_to(catalog: Catalog, tmp_path: Path) -> None:
    tokens = open_tokens(load(database=catalog.shared.url if catalog.shared else "", library=tmp_path))
    shown = {days: tokens.new(f"{days}", "viewer", days) for days in (1, 90, None)}
    kept = {one.name: one for one in tokens.all()}
    assert days_left(kept["1"]) == pytest.approx(1, abs=0.01)
    assert (kept["None"].ends_at, kept["None"].lasts) == ("", "never ends")
    assert days_left(kept["90"]) == pytest.approx(90, abs=0.01)
    for days in (0, -1, 3_651):
        with pytest.raises(AnalysisError, match="from 1 to 3,650 days"):
            tokens.new("more", "viewer", days)
    end(tokens, catalog, "1")
    found = {days: tokens.shown(text) for days, text in shown.items()}
    assert {days: one and one.has_ended for days, one in found.items()} == {1: True, 90: False, None: False}


def test_an_end_that_cannot_be_read_is_over() -> None:
    for wrong in ("soon", "2999-01-01", "2999-01-01T00:00:00"):
        assert Token("1", "a", "viewer", "", "", wrong).has_ended, wrong


def test_tokens_of_an_earlier_version_end_after_the_upgrade(tmp_path: Path, postgres: Server) -> None:
    old = {"id": "0123456789ab", "name": "old", "role": "viewer", "digest": "0" * 64, "created_at": "2020-01-01"}
    folder = Tokens(tmp_path)
    folder.new("forever", "viewer", None)
    (tmp_path / "tokens.json").write_text(json.dumps([old, *json.loads((tmp_path / "tokens.json").read_text())]))
    assert not folder.all()[0].has_ended, "it opens what it did until somebody says when it ends"
    folder.date()
    first, forever = folder.all()
    assert days_left(first) == pytest.approx(90, abs=0.01)
    assert forever.ends_at == ""
    folder.date()
    assert folder.all() == [first, forever], "once"

    url = postgres.create()
    migrations.move(url, "0007")
    with Catalog(Postgres(url)).transaction() as db:
        db.execute(
            "INSERT INTO token (id, name, role, digest, created_at) VALUES (:id, :name, :role, :digest, :created_at)",
            old,
        )
    migrations.move(url)
    (moved,) = open_tokens(load(database=url, library=tmp_path)).all()
    assert days_left(moved) == pytest.approx(90, abs=0.01)


def test_the_command_says_how_long_and_when_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = ("--library", str(tmp_path))
    for argv in (("new", "a"), ("new", "b", "--days", "7", "--role", "editor"), ("new", "c", "--never")):
        assert main(["token", *argv, *place]) == 0
    assert main(["token", "new", "d", "--never", "--days", "1", *place]) != 0
    capsys.readouterr()
    catalog, kept = Catalog(tmp_path / "catalog.sqlite"), {one.name: one for one in Tokens(tmp_path).all()}
    catalog.token_uses.note(kept["b"].id)
    assert main(["token", "list", *place]) == 0
    lines = dict(zip("abc", capsys.readouterr().out.splitlines(), strict=True))
    assert f"ends {kept['a'].ends_at}" in lines["a"]
    assert days_left(kept["a"]) == pytest.approx(90, abs=0.01)
    assert days_left(kept["b"]) == pytest.approx(7, abs=0.01)
    assert "never ends" in lines["c"]
    assert [f"used {datetime.now(UTC):%Y-%m-%d}" in line for line in lines.values()] == [False, True, False]
    assert "used never" in lines["a"]
    assert {one.about for one in catalog.audit.entries(action="made token")} == {
        "a, viewer, 90 days", "b, editor, 7 days", "c, viewer, never ends",
    }  # fmt: skip


def test_a_use_is_written_now_and_then(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    uses = catalog.token_uses
    uses.note("a")
    first = uses.all()["a"]
    with catalog.transaction() as db:
        db.execute("UPDATE token_use SET used_at = 'before'")
    uses.note("a")
    assert uses.all() == {"a": "before"}, "a moment later nothing is written"
    monkeypatch.setattr(token_uses, "FRESH_S", 0)
    uses.note("a")
    assert uses.all()["a"] >= first
