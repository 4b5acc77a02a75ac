"""Who asks a library: what the audit calls them, and by what it is told which reports they see (sight.py)."""

from dataclasses import dataclass
from typing import Literal

from profiledb.words import visible

Way = Literal["local", "login", "token", "worker", "link"]
"""How somebody came in: on the machine itself or a server without a login, logged in, with a token, as a worker, by a
sharing link."""
LONGEST = 200
"""Characters of a name."""
NONE = "-"
"""In place of the one report that somebody sees: none, for no report has this id."""


@dataclass(frozen=True)
class Visitor:
    """Somebody who asks.

    Args:
        name: what the identity provider or the token says, which stands in the audit.
        way: how they came in.
        groups: by which spaces know them (report/spaces.py); None: they see everything.
        only: id of the one report that they see, or ``NONE``; empty: it goes by the groups.
    """

    name: str
    way: Way
    groups: frozenset[str] | None = None
    only: str = ""


LOCAL = Visitor("local", "local")
WORKER = Visitor("worker", "worker")
NOBODY = Visitor("", "login", frozenset(), NONE)
"""Who has not said who they are: they see nothing, not even what everybody else does."""


def named(*parts: object) -> str:
    """What the audit calls somebody: these texts, each once, cleaned and bounded."""
    texts = (" ".join(visible(part[:LONGEST]).split()) for part in parts if isinstance(part, str))
    return ", ".join(dict.fromkeys(text for text in texts if text))[:LONGEST]
