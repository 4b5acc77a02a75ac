"""The log of a process: plain lines, or with ``WARPDECK_LOG=json`` one object per line on standard output.

An object has ``time`` (UTC), ``level`` and ``event``, and fields of the event: ``file``, ``report``, ``seconds``,
``cause`` ... A library's record is the event ``log`` with its ``message``. Texts are ASCII with escapes, cut, and
without passwords, so that names from files cannot harm a reader of the log.
"""

import json
import logging
import math
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from profiledb import secret
from profiledb.errors import ConfigError

JSON = "json"
LONGEST = 2_000
"""Length limit of a text, in characters."""
LONGEST_TRACE = 8_000
MARK = "[removed]"

_PASSWORD = re.compile(r"(://[^/\s:@]*:)\S+@")
"""Password in an address. The host follows the last @, because a password may contain anything."""
_GIVEN = re.compile(r"(?i)\b((?:password|secret_access_key|session_token|client_secret|cookie_secret)\s*[=:]\s*)\S+")
_SECRETS = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "PGPASSWORD")
"""Variables that secret.py reads: their values never reach a log."""
_LEAST_SECRET = 6
_events = logging.getLogger("warpdeck.events")


def log_event(name: str, /, *, level: int = logging.INFO, **fields: Any) -> None:
    """Log an event; plain logs leave it out, because people get sentences there.

    Args:
        name: of the event.
        level: as in ``logging``.
        fields: details; None is left out.
    """
    _events.log(level, name, extra={"fields": {key: value for key, value in fields.items() if value is not None}})


def configure(form: str) -> None:
    """Make this process log JSON objects if ``form`` is json; plain changes nothing."""
    if form != JSON:
        return
    root = logging.getLogger()
    root.handlers = [make_handler()]
    _events.setLevel(logging.INFO)


def make_handler() -> logging.Handler:
    """Return a handler that writes records as JSON to standard output."""
    made = logging.StreamHandler(sys.stdout)
    made.setFormatter(Formatter())
    made.addFilter(_is_wanted)
    return made


def _is_wanted(record: logging.LogRecord) -> bool:
    """Return False for the HTTP server's record of a request, whose address may be confidential."""
    return record.levelno > logging.INFO or not record.name.startswith("uvicorn.")


class Formatter(logging.Formatter):
    """Formats a record as an object on one line."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {"time": moment.replace("+00:00", "Z"), "level": record.levelname.lower()}
        fields = getattr(record, "fields", None)
        if record.name == _events.name and isinstance(fields, Mapping):
            line |= {"event": record.getMessage()} | {key: _clean_value(value) for key, value in fields.items()}
        else:
            line |= {"event": "log", "logger": record.name, "message": remove_secrets(record.getMessage())[:LONGEST]}
        if record.exc_info:
            line["trace"] = remove_secrets(self.formatException(record.exc_info))[-LONGEST_TRACE:]
        return json.dumps(line)


def remove_secrets(text: str) -> str:
    """Remove passwords of addresses, and the values of variables that hold keys."""
    text = _GIVEN.sub(rf"\1{MARK}", _PASSWORD.sub(rf"\1{MARK}@", text))
    for name in _SECRETS:
        with suppress(ConfigError):
            value = secret.read_secret(name)
            if len(value) >= _LEAST_SECRET:
                text = text.replace(value, MARK)
    return text


def _clean_value(value: Any) -> Any:
    if isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return remove_secrets(str(value))[:LONGEST]
