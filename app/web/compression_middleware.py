"""Streamlit's own scripts and styles, compressed.

Streamlit sends them as they are, because compressing them at each request costs more than it saves. Their names change
with their content, so each is compressed once and kept.
"""

import asyncio
import gzip
from collections.abc import MutableMapping
from dataclasses import dataclass, field
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.web import url_paths
from app.web.login_middleware import STATIC_PREFIX

SUFFIXES = (".js", ".css", ".json", ".svg", ".wasm", ".map")
"""Endings of files that are not compressed already."""
MIN_BYTES = 1_000
"""Bytes from which on it is worth the trouble."""
MAX_CACHE_BYTES = 64_000_000
"""Bytes of compressed files in memory; all that a version of Streamlit has are 6 MB."""
_LEVEL = 9


@dataclass
class _Response:
    """What the application answers: its start, and its body until that is whole."""

    start: MutableMapping[str, Any] = field(default_factory=dict)
    body: bytearray = field(default_factory=bytearray)


class CompressionMiddleware:
    """Compresses those files for browsers that take gzip, once each."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._kept: dict[str, tuple[list[tuple[bytes, bytes]], bytes]] = {}
        self._bytes = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes on everything else, also what a browser asks about a file that it has."""
        if scope["type"] != "http" or not _is_compressible(scope):
            await self.app(scope, receive, send)
            return
        path = url_paths.strip_base(scope)
        if path not in self._kept:
            answer = await self._ask(scope, receive)
            if answer.start["status"] != 200 or len(answer.body) < MIN_BYTES:
                await send(answer.start)
                await send({"type": "http.response.body", "body": bytes(answer.body)})
                return
            packed = await asyncio.to_thread(gzip.compress, answer.body, _LEVEL, mtime=0)
            headers = _build_headers(answer.start, len(packed))
            if self._bytes + len(packed) <= MAX_CACHE_BYTES and path not in self._kept:
                self._kept[path] = (headers, packed)
                self._bytes += len(packed)
        else:
            headers, packed = self._kept[path]
        await send({"type": "http.response.start", "status": 200, "headers": list(headers)})
        await send({"type": "http.response.body", "body": packed})

    async def _ask(self, scope: Scope, receive: Receive) -> _Response:
        """What the application answers, whole."""
        answer = _Response()

        async def collect(message: Message) -> None:
            if message["type"] == "http.response.start":
                answer.start = message
            else:
                answer.body += message.get("body", b"")

        await self.app(scope, receive, collect)
        return answer


def _is_compressible(scope: Scope) -> bool:
    """Whether a request is for such a file as a whole, by somebody who takes gzip."""
    path, headers = url_paths.strip_base(scope), Headers(scope=scope)
    if scope["method"] != "GET" or not (path.startswith(STATIC_PREFIX) and path.endswith(SUFFIXES)):
        return False
    if any(name in headers for name in ("range", "if-none-match", "if-modified-since")):
        return False
    return any(_accepts_gzip(one) for one in headers.get("accept-encoding", "").lower().split(","))


def _accepts_gzip(coding: str) -> bool:
    name, _, quality = coding.replace(" ", "").partition(";")
    return name == "gzip" and quality not in ("q=0", "q=0.0", "q=0.00", "q=0.000")


def _build_headers(start: MutableMapping[str, Any], length: int) -> list[tuple[bytes, bytes]]:
    """Those of the file, for its compressed form; a tag of other bytes is a weak one."""
    headers = MutableHeaders(raw=list(start["headers"]))
    headers["Content-Encoding"] = "gzip"
    headers["Content-Length"] = str(length)
    headers.add_vary_header("Accept-Encoding")
    if "etag" in headers and not headers["etag"].startswith("W/"):
        headers["ETag"] = f"W/{headers['etag']}"
    if "accept-ranges" in headers:
        del headers["Accept-Ranges"]
    return headers.raw
