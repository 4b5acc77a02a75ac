"""The file in a library's folder that names its dashboard, and the proof that a server wrote it.

The file may be stale, and its port may belong to another program by now. So it counts for nothing until the server
answers a random number with the HMAC under the key in the file (RFC 2104), which only readers of the library know.
Whatever else the file contains, its address is on this machine.
"""

import contextlib
import hashlib
import hmac
import json
import os
import re
import secrets
from dataclasses import asdict, dataclass, replace
from pathlib import Path

NAME = "server.json"
PATH = "/_warpdeck/server"
"""Path below the server's base path where it answers; the query is the number."""
NUMBER = re.compile(r"[0-9a-f]{32}")
LONGEST = 65536
"""Size limit of the file, in bytes."""
_BASE = re.compile(r"(/[A-Za-z0-9._~-]+)*")
_KEY = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Serving:
    """A server of a library on this machine.

    Args:
        port: TCP port.
        base: path of its pages without a trailing slash; empty for the root.
        inbox: the folder or bucket that its worker watches.
        key: 64 hexadecimal digits.
    """

    port: int
    base: str
    inbox: str
    key: str

    def answer(self, number: str) -> str:
        """Return the server's answer to a number, hexadecimal."""
        return hmac.new(bytes.fromhex(self.key), number.encode(), hashlib.sha256).hexdigest()


def describe_server(port: int, base: str, inbox: str) -> Serving:
    """Describe a starting server, with a new key."""
    path = "".join(f"/{part}" for part in base.split("/") if part)
    return Serving(port, path, inbox, secrets.token_hex(32))


def announce(library: Path, serving: Serving) -> None:
    """Announce a server in place of another one; do nothing if the folder cannot be written.

    The file has the permissions of the library's other files.
    """
    temporary = library / f".{NAME}-{os.getpid()}"
    with contextlib.suppress(OSError):
        library.mkdir(parents=True, exist_ok=True)
        temporary.write_text(json.dumps(asdict(serving)), encoding="utf-8")
        temporary.replace(library / NAME)


def withdraw(library: Path, serving: Serving) -> None:
    """Withdraw a server's announcement, unless another server has announced itself since."""
    if read_announcement(library) == serving:
        with contextlib.suppress(OSError):
            (library / NAME).unlink()


def read_announcement(library: Path) -> Serving | None:
    """Read an announcement; None if the file is missing or malformed."""
    try:
        with (library / NAME).open("rb") as file:
            content = json.loads(file.read(LONGEST))
        serving = Serving(**{name: content[name] for name in ("port", "base", "inbox", "key")})
        whole = replace(serving, port=int(serving.port)) == serving and type(serving.port) is int
        named = _BASE.fullmatch(serving.base) and _KEY.fullmatch(serving.key) and isinstance(serving.inbox, str)
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
    return serving if whole and named and 0 < serving.port < 1 << 16 else None
