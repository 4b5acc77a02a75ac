"""Visitors: the name that the audit has of somebody, and the facts that decide which reports they see
(access_check.py).
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from profiledb.words import visible

Way = Literal["local", "login", "token", "worker", "link"]
"""How somebody came in: on this machine or a server without login, logged in, with a token, as a worker, by a sharing
link."""
LONGEST = 200
"""Length limit of each text in a name, in characters."""
NONE = "-"
"""Id that no report has, for a visitor who sees none."""
_QUOTES = re.compile('["\u00ab\u00bb\u201c-\u201f\u2033\u2036\uff02]')


@dataclass(frozen=True)
class Visitor:
    """Somebody who uses a library.

    Args:
        name: name from the identity provider or the token, for the audit.
        way: how they came in.
        groups: groups that spaces know them by (library/spaces.py); None: they see everything.
        only: id of the one report that they see, or ``NONE``; empty: the groups decide.
    """

    name: str
    way: Way
    groups: frozenset[str] | None = None
    only: str = ""


LOCAL = Visitor("local", "local")
WORKER = Visitor("worker", "worker")
NOBODY = Visitor("", "login", frozenset(), NONE)
"""Somebody who has not logged in: sees nothing, not even the reports of everybody."""


def clean_audit_name(chosen: Iterable[object], proven: Iterable[object]) -> str:
    """Return the name for the audit, cleaned and bounded.

    Args:
        chosen: texts that they may have chosen themselves. They are quoted, so that a name which looks like another
            person's e-mail address can be told from it.
        proven: texts that the identity provider vouches for.
    """
    return ", ".join((*(f'"{text}"' for text in _clean_texts(chosen)), *_clean_texts(proven)))


def _clean_texts(values: Iterable[object]) -> Iterable[str]:
    texts = (" ".join(visible(part).split())[:LONGEST] for part in values if isinstance(part, str))
    return dict.fromkeys(_QUOTES.sub("'", text) for text in texts if text)
