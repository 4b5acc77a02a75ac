"""Who asks a library: what the audit calls them."""

from dataclasses import dataclass
from typing import Literal

from profiledb.words import visible

Way = Literal["local", "login", "token", "worker", "link"]
"""How somebody came in: on the machine itself or a server without a login, logged in, with a token, as a worker, by a
sharing link."""
LONGEST = 200
"""Characters of a name."""


@dataclass(frozen=True)
class Visitor:
    """Somebody who asks; ``name`` is what the identity provider or the token says, and stands in the audit."""

    name: str
    way: Way


LOCAL = Visitor("local", "local")
WORKER = Visitor("worker", "worker")
NOBODY = Visitor("", "login")
"""Who has not said who they are."""


def named(*parts: object) -> str:
    """What the audit calls somebody: these texts, each once, cleaned and bounded."""
    texts = (" ".join(visible(part[:LONGEST]).split()) for part in parts if isinstance(part, str))
    return ", ".join(dict.fromkeys(text for text in texts if text))[:LONGEST]
