"""Compress Streamlit's own scripts and styles, each once.

Streamlit sends them uncompressed, and starlette's ``GZipMiddleware`` would compress 6 MB anew for every browser. Their
names change with their content, so that a compressed file can be cached for good.
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
"""File types that are not compressed already."""
MIN_BYTES = 1_000
MAX_CACHE_BYTES = 64_000_000
"""Limit of compressed bytes in memory; all files of a version of Streamlit take 6 MB."""
_LEVEL = 9


@dataclass
class _Response:
    start: MutableMapping[str, Any] = field(default_factory=dict)
    body: bytearray = field(default_factory=bytearray)


class CompressionMiddleware:
    """Serve static files compressed to browsers that accept gzip, from a cache in memory."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._cache: dict[str, tuple[list[tuple[bytes, bytes]], bytes]] = {}
        self._cache_bytes = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection; partial and conditional requests pass through."""
        if scope["type"] != "http" or not _is_compressible(scope):
            await self.app(scope, receive, send)
            return
        path = url_paths.strip_base(scope)
        if path not in self._cache:
            response = await self._collect_response(scope, receive)
            if response.start["status"] != 200 or len(response.body) < MIN_BYTES:
                await send(response.start)
                await send({"type": "http.response.body", "body": bytes(response.body)})
                return
            compressed = await asyncio.to_thread(gzip.compress, response.body, _LEVEL, mtime=0)
            headers = _build_headers(response.start, len(compressed))
            if self._cache_bytes + len(compressed) <= MAX_CACHE_BYTES and path not in self._cache:
                self._cache[path] = (headers, compressed)
                self._cache_bytes += len(compressed)
        else:
            headers, compressed = self._cache[path]
        await send({"type": "http.response.start", "status": 200, "headers": list(headers)})
        await send({"type": "http.response.body", "body": compressed})

    async def _collect_response(self, scope: Scope, receive: Receive) -> _Response:
        response = _Response()

        async def collect(message: Message) -> None:
            if message["type"] == "http.response.start":
                response.start = message
            else:
                response.body += message.get("body", b"")

        await self.app(scope, receive, collect)
        return response


def _is_compressible(scope: Scope) -> bool:
    """Return True if a request asks for a whole static file and accepts gzip."""
    path, headers = url_paths.strip_base(scope), Headers(scope=scope)
    if scope["method"] != "GET" or not (path.startswith(STATIC_PREFIX) and path.endswith(SUFFIXES)):
        return False
    if any(name in headers for name in ("range", "if-none-match", "if-modified-since")):
        return False
    return any(_accepts_gzip(coding) for coding in headers.get("accept-encoding", "").lower().split(","))


def _accepts_gzip(coding: str) -> bool:
    name, _, quality = coding.replace(" ", "").partition(";")
    return name == "gzip" and quality not in ("q=0", "q=0.0", "q=0.00", "q=0.000")


def _build_headers(start: MutableMapping[str, Any], length: int) -> list[tuple[bytes, bytes]]:
    """Return the file's headers for its compressed form. The ETag becomes weak: the bytes differ from the file's."""
    headers = MutableHeaders(raw=list(start["headers"]))
    headers["Content-Encoding"] = "gzip"
    headers["Content-Length"] = str(length)
    headers.add_vary_header("Accept-Encoding")
    if "etag" in headers and not headers["etag"].startswith("W/"):
        headers["ETag"] = f"W/{headers['etag']}"
    if "accept-ranges" in headers:
        del headers["Accept-Ranges"]
    return headers.raw
