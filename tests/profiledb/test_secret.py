"""Passwords and keys come from files, and no message or log repeats them."""

from pathlib import Path

import pytest

from profiledb import secret
from profiledb.errors import ConfigError
from profiledb.library import postgres
from profiledb.monitoring import logs

WORD = "p4ss:w@rd/ä"
URL = "postgresql://warpdeck@database/warpdeck"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "password"
    path.write_text(f"{WORD}\n", encoding="utf-8")
    monkeypatch.delenv("PGPASSWORD", raising=False)
    monkeypatch.setenv("PGPASSWORD_FILE", str(path))
    return path


def test_a_file_gives_what_the_variable_does_not(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert secret.read_secret("PGPASSWORD") == WORD
    assert postgres.build_connection_arguments(URL)["password"] == WORD
    assert postgres.build_connection_arguments("postgresql://warpdeck:other@database/warpdeck")["password"] == "other"
    monkeypatch.setenv("PGPASSWORD", "first")
    assert secret.read_secret("PGPASSWORD") == "first"
    monkeypatch.delenv("PGPASSWORD")
    monkeypatch.delenv("PGPASSWORD_FILE")
    assert "password" not in postgres.build_connection_arguments(URL)


def test_what_cannot_be_read_is_named_by_its_variable(file: Path) -> None:
    file.write_bytes(b"\xff\xfe")
    for _ in range(2):
        with pytest.raises(ConfigError, match="PGPASSWORD_FILE names cannot be read") as raised:
            postgres.build_connection_arguments(URL)
        assert str(file) not in str(raised.value)
        assert logs.remove_secrets("as it was") == "as it was"
        file.unlink(missing_ok=True)


def test_no_log_has_it(file: Path) -> None:
    assert WORD not in logs.remove_secrets(f"connection of {WORD} failed")
