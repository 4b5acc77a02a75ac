"""The JSON log: one object per line, with any names and messages, and no secrets."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from profiledb.monitoring import logs

FORMATTER = logs.Formatter()


def written(record: logging.LogRecord) -> dict[str, Any]:
    text = FORMATTER.format(record)
    assert text.isascii()
    assert "\n" not in text
    found: dict[str, Any] = json.loads(text)
    return found


def event(name: str, **fields: Any) -> dict[str, Any]:
    record = logging.makeLogRecord({"name": "warpdeck.events", "msg": name, "levelno": 20, "levelname": "INFO"})
    record.fields = fields
    return written(record)


def test_an_event_has_its_fields() -> None:
    found = event("file", file="a.nsys-rep", seconds=1.25, report=None, whole=True)
    assert found.pop("time").endswith("Z")
    told = {"level": "info", "event": "file", "file": "a.nsys-rep", "seconds": 1.25, "report": "None", "whole": True}
    assert found == told


@pytest.mark.parametrize("name", ['a\n{"level":"error"}', "b\x1b[2J", "c\udc80", "d\u202e", 'e"\\'])
def test_hostile_names_stay_in_their_line(name: str) -> None:
    assert event("file", file=name)["file"] == name


def test_long_texts_and_numbers_that_json_has_not() -> None:
    assert len(event("file", file="x" * 9_000)["file"]) == logs.LONGEST
    assert event("file", seconds=float("nan"))["seconds"] == "nan"


def test_no_password_gets_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "abc/DEF+123456")
    said = "postgresql://team:p@ss/w0rd@db:5432/x failed, key abc/DEF+123456, password=hunter22"
    try:
        raise OSError(said)
    except OSError:
        record = logging.getLogger("x").makeRecord(
            "psycopg", logging.ERROR, "f", 1, "lost %s", (said,), __import__("sys").exc_info()
        )
    found = written(record)
    assert found["event"] == "log"
    assert "OSError" in found["trace"]
    for text in (found["message"], found["trace"], event("x", cause=said)["cause"]):
        assert "db:5432" in text
        for secret in ("p@ss", "w0rd", "abc/DEF", "hunter22"):
            assert secret not in text


def test_plain_logs_hold_no_events(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    logs.configure("plain")
    logs.log_event("file", file="a")
    assert capfd.readouterr() == ("", "")
