"""Which dashboard serves a library: a small file in its folder, and the proof that whoever answers wrote that file.

The file may be stale, and the port another program's by now. So it counts for nothing until the server answers a random
number with its HMAC under the key of the file (RFC 2104), which only those know who can read the library. Whatever else
stands in the file leads to no other address than one of this machine.
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
"""Where a server answers, below its base path; the query is the number."""
NUMBER = re.compile(r"[0-9a-f]{32}")
LONGEST = 65536
"""Bytes of the file that are read."""
_BASE = re.compile(r"(/[A-Za-z0-9._~-]+)*")
_KEY = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Serving:
    """A server of a library on this machine.

    Args:
        port: the TCP port on which it listens.
        base: the path of its pages, without a slash at the end; empty for the root.
        inbox: the folder or bucket that its worker watches.
        key: 64 hexadecimal digits.
    """

    port: int
    base: str
    inbox: str
    key: str

    def answer(self, number: str) -> str:
        """What this server answers to a number: hexadecimal."""
        return hmac.new(bytes.fromhex(self.key), number.encode(), hashlib.sha256).hexdigest()


def begin(port: int, base: str, inbox: str) -> Serving:
    """A server that starts, with a key of its own."""
    parts = "".join(f"/{part}" for part in base.split("/") if part)
    return Serving(port, parts, inbox, secrets.token_hex(32))


def write(library: Path, serving: Serving) -> None:
    """Announces a server, in place of another one; does nothing where the folder cannot be written.

    The file is as readable as those of the library are.
    """
    temporary = library / f".{NAME}-{os.getpid()}"
    with contextlib.suppress(OSError):
        library.mkdir(parents=True, exist_ok=True)
        temporary.write_text(json.dumps(asdict(serving)), encoding="utf-8")
        temporary.replace(library / NAME)


def remove(library: Path, serving: Serving) -> None:
    """Takes back what a server announced, unless another one has announced itself since."""
    if read(library) == serving:
        with contextlib.suppress(OSError):
            (library / NAME).unlink()


def read(library: Path) -> Serving | None:
    """What a server announced; None where the file is not there or is not one that ``write`` makes."""
    try:
        with (library / NAME).open("rb") as file:
            found = json.loads(file.read(LONGEST))
        serving = Serving(**{name: found[name] for name in ("port", "base", "inbox", "key")})
        whole = replace(serving, port=int(serving.port)) == serving and type(serving.port) is int
        named = _BASE.fullmatch(serving.base) and _KEY.fullmatch(serving.key) and isinstance(serving.inbox, str)
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
    return serving if whole and named and 0 < serving.port < 1 << 16 else None
