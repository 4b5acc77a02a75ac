r"""Remove secrets from text of captures, sidecars and other programs.

A command line may hold secrets at any depth: ``bash -c "API_TOKEN=x python train.py --password y"``. Arguments that are
shell strings or JSON are taken apart, and values with secret names are removed. A text without any sign of a secret
stays as it is; one with a sign that cannot be taken apart is cut.
"""

import re
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING

from ingest.scrub import commands
from ingest.scrub.commands import scrub_facts
from ingest.scrub.secret_names import SECRET_NAME
from ingest.scrub.secret_patterns import CREDENTIAL, MARK, ROUGHLY, USERINFO, find_sign, remove_credentials
from profiledb.report.schema import quote

if TYPE_CHECKING:
    import duckdb

__all__ = [
    "CREDENTIAL",
    "LONGEST",
    "MARK",
    "SECRET_NAME",
    "USERINFO",
    "make_scrub_expression",
    "scrub_arguments",
    "scrub_command_line",
    "scrub_database_error",
    "scrub_facts",
    "scrub_output",
    "scrub_text",
]  # fmt: skip
LONGEST = 4000
"""Stored characters of another program's output."""
_WORDS = (
    r"token|secret|passw(?:or)?d|passphrase|pwd|api[_-]?key|access[_-]?key|private[_-]?key|credentials?|auth|cookie"
)
_ASSIGNED = re.compile(rf"(?i)\b([\w-]{{0,40}}(?:{_WORDS})\w{{0,40}})(\s*[=:]\s*|\s+)\S+")
_VARIABLE = re.compile(r"(?<![\w-])([A-Za-z_]\w{2,}=)\S+")
_UNPRINTABLE = re.compile(r"[^\n\t\x20-\x7e\xa0-\ud7ff\ue000-\U0010ffff]+")
_QUOTATION = re.compile(r"[\"'`\n]")


def scrub_output(text: str) -> str:
    """Return the end of a converter's output without secret values and control characters."""
    clean = _UNPRINTABLE.sub(" ", text).strip()[-4 * LONGEST :]
    clean = _ASSIGNED.sub(rf"\1\2{MARK}", scrub_text(clean))
    return _VARIABLE.sub(rf"\1{MARK}", clean)[-LONGEST:]


def scrub_database_error(error: Exception) -> str:
    """Return an error's class and its message up to the first quotation, which may come from a file."""
    unquoted = _QUOTATION.split(str(error), maxsplit=1)[0]
    return f"{type(error).__name__}: {_UNPRINTABLE.sub(' ', unquoted).strip()[:200]}".rstrip(": ")


@lru_cache(maxsize=4096)
def scrub_text(text: str) -> str:
    """Return a name or sentence without secrets; cut it at a sign of a secret that cannot be taken apart."""
    sign = find_sign(text)
    if sign is None:
        return text
    try:
        return commands.scrub_text(text, 0)
    except ValueError:
        return remove_credentials(text[: sign.start()]) + MARK


def scrub_arguments(arguments: list[str]) -> list[str]:
    """Return the arguments of a command line without secrets."""
    return commands.CommandScrubber(0, literal=True).scrub(arguments)


def scrub_command_line(text: str | None) -> str | None:
    """Return a command line, given as one text, without secrets; if it cannot be taken apart, its program alone."""
    return None if text is None else commands.scrub_script(text, 0)


def make_scrub_expression(db: "duckdb.DuckDBPyConnection") -> str:
    """Return SQL that applies ``scrub_text`` to a text ``t``; it calls Python only for texts with signs of a secret."""
    import duckdb  # here, because recording a program needs no database

    with suppress(duckdb.InvalidInputException):
        db.remove_function("scrubbed")  # left by a first try to read the same file
    db.create_function("scrubbed", scrub_text, ["VARCHAR"], "VARCHAR")
    return f"CASE WHEN regexp_matches(t, {quote(ROUGHLY)}) THEN scrubbed(t) ELSE t END"
