"""Put our style sheet, and the script that hears Ctrl+K early, into Streamlit's page.

Drawn by a run, styles would come after the first elements, which would be laid out twice and jump; and keys pressed
before the search is drawn would be lost.
"""

from collections.abc import MutableMapping
from functools import cache
from pathlib import Path
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_STATIC = Path(__file__).parents[1] / "static"
STYLE, EARLY_KEYS = _STATIC / "style.css", _STATIC / "search" / "early.js"
_END = b"</head>"
_ABOUT_COPIES = ("accept-encoding", "if-none-match", "if-modified-since")
"""Request headers by which Streamlit would answer with a compressed page, or with none."""


class PageHeadMiddleware:
    """Insert both at the end of the head of every HTML page that a browser opens."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if (
            scope["type"] != "http"
            or scope["method"] != "GET"
            or "text/html" not in Headers(scope=scope).get("accept", "")
        ):
            await self.app(scope, receive, send)
            return
        headers = [(name, value) for name, value in scope["headers"] if name.decode("latin-1") not in _ABOUT_COPIES]
        start: MutableMapping[str, Any] = {}
        body = bytearray()

        async def send_completed(message: Message) -> None:
            if message["type"] == "http.response.start":
                if not Headers(raw=message["headers"]).get("content-type", "").startswith("text/html"):
                    await send(message)
                    return
                start.update(message)
                return
            if not start:
                await send(message)
                return
            body.extend(message.get("body", b""))
            if not message.get("more_body"):
                await _send_page(start, bytes(body), send)

        await self.app(dict(scope, headers=headers), receive, send_completed)


async def _send_page(start: MutableMapping[str, Any], page: bytes, send: Send) -> None:
    completed = page.replace(_END, _read_additions() + _END, 1)
    headers = MutableHeaders(raw=list(start["headers"]))
    headers["Content-Length"] = str(len(completed))
    for name in ("etag", "last-modified", "accept-ranges"):  # they are about Streamlit's file
        if name in headers:
            del headers[name]
    await send({**start, "headers": headers.raw})
    await send({"type": "http.response.body", "body": completed})


@cache
def _read_additions() -> bytes:
    """Return both elements. Nested in ``html``, our rules win over Streamlit's, which are as specific."""
    script = EARLY_KEYS.read_bytes()  # allowed by its hash: security_headers_middleware.build_policy
    return b"<style>html {\n" + STYLE.read_bytes() + b"}</style><script>" + script + b"</script>"
