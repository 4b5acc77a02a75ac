r"""Removes secrets from text that a capture, a sidecar or another program brings along.

A command line may hold secrets at any depth: ``bash -c "API_TOKEN=x python train.py --password y"``. Arguments that are
shell strings or JSON are taken apart, and the values are removed whose names say that they are secret. A text without
any sign of a secret stays as it is; one with a sign that cannot be taken apart is cut.
"""

import re
from contextlib import suppress
from functools import lru_cache

import duckdb

from ingest.scrub import commands
from ingest.scrub.commands import facts
from ingest.scrub.secret_names import SECRET_NAME
from ingest.scrub.secret_patterns import CREDENTIAL, MARK, ROUGHLY, USERINFO, find_sign, without_credentials
from profiledb.report.schema import quote

__all__ = [
    "CREDENTIAL", "LONGEST", "MARK", "SECRET_NAME", "USERINFO", "command", "command_line", "database", "expression",
    "facts", "visible", "words",
]  # fmt: skip
LONGEST = 4000
"""Characters of another program's words that are kept."""
_WORDS = (
    r"token|secret|passw(?:or)?d|passphrase|pwd|api[_-]?key|access[_-]?key|private[_-]?key|credentials?|auth|cookie"
)
_ASSIGNED = re.compile(rf"(?i)\b([\w-]{{0,40}}(?:{_WORDS})\w{{0,40}})(\s*[=:]\s*|\s+)\S+")
_VARIABLE = re.compile(r"(?<![\w-])([A-Za-z_]\w{2,}=)\S+")
_UNPRINTABLE = re.compile(r"[^\n\t\x20-\x7e\xa0-\ud7ff\ue000-\U0010ffff]+")
_QUOTATION = re.compile(r"[\"'`\n]")


def words(text: str) -> str:
    """A converter's words without values that may be secret, without control characters, and cut at the front."""
    kept = _UNPRINTABLE.sub(" ", text).strip()[-4 * LONGEST :]
    kept = _ASSIGNED.sub(rf"\1\2{MARK}", visible(kept))
    return _VARIABLE.sub(rf"\1{MARK}", kept)[-LONGEST:]


def database(error: Exception) -> str:
    """What an error of a database says of itself: its kind and its words up to the first that it quotes."""
    unquoted = _QUOTATION.split(str(error), maxsplit=1)[0]
    return f"{type(error).__name__}: {_UNPRINTABLE.sub(' ', unquoted).strip()[:200]}".rstrip(": ")


@lru_cache(maxsize=4096)
def visible(text: str) -> str:
    """A name or sentence without secrets; one with a sign of a secret that cannot be taken apart ends before it."""
    sign = find_sign(text)
    if sign is None:
        return text
    try:
        return commands.scrub_text(text, 0)
    except ValueError:
        return without_credentials(text[: sign.start()]) + MARK


def command(arguments: list[str]) -> list[str]:
    """The arguments of a command line without secrets."""
    return commands.Words(0, literal=True).kept(arguments)


def command_line(text: str | None) -> str | None:
    """A command line in one text without secrets; where it cannot be taken apart, its program alone."""
    return None if text is None else commands.scrub_script(text, 0)


def expression(db: duckdb.DuckDBPyConnection) -> str:
    """SQL that makes of a text ``t`` what ``visible`` does; it asks Python about those with a sign alone."""
    with suppress(duckdb.InvalidInputException):
        db.remove_function("scrubbed")  # of a first try to read the same file
    db.create_function("scrubbed", visible, ["VARCHAR"], "VARCHAR")
    return f"CASE WHEN regexp_matches(t, {quote(ROUGHLY)}) THEN scrubbed(t) ELSE t END"
