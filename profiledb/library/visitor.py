"""Who asks a library: what the audit calls them, and by what it is told which reports they see (access_check.py)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from profiledb.words import visible

Way = Literal["local", "login", "token", "worker", "link"]
"""How somebody came in: on the machine itself or a server without a login, logged in, with a token, as a worker, by a
sharing link."""
LONGEST = 200
"""Characters of each text that somebody is called by."""
NONE = "-"
"""In place of the one report that somebody sees: none, for no report has this id."""
_QUOTES = re.compile('["\u00ab\u00bb\u201c-\u201f\u2033\u2036\uff02]')


@dataclass(frozen=True)
class Visitor:
    """Somebody who asks.

    Args:
        name: what the identity provider or the token says, which stands in the audit.
        way: how they came in.
        groups: by which spaces know them (library/spaces.py); None: they see everything.
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


def named(chosen: Iterable[object], proven: Iterable[object]) -> str:
    """What the audit calls somebody, cleaned and bounded.

    Args:
        chosen: texts that they may have chosen themselves. Each stands in quotes, so that a name that looks like
            another person's e-mail address is told from that.
        proven: texts that the identity provider vouches for.
    """
    return ", ".join((*(f'"{text}"' for text in _texts(chosen)), *_texts(proven)))


def _texts(parts: Iterable[object]) -> Iterable[str]:
    texts = (" ".join(visible(part).split())[:LONGEST] for part in parts if isinstance(part, str))
    return dict.fromkeys(_QUOTES.sub("'", text) for text in texts if text)
