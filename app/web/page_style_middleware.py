"""Put our style sheet into Streamlit's page, so that it holds before the first script has drawn anything.

Drawn by a script, it would come after the first elements: they would be laid out twice and jump.
"""

from collections.abc import MutableMapping
from functools import cache
from pathlib import Path
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

STYLE = Path(__file__).parents[1] / "static" / "style.css"
_END = b"</head>"
_ABOUT_COPIES = ("accept-encoding", "if-none-match", "if-modified-since")
"""Request headers by which Streamlit would answer with a compressed page, or with none."""


class PageStyleMiddleware:
    """Insert the style sheet at the end of the head of every HTML page that a browser opens."""

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

        async def send_styled(message: Message) -> None:
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

        await self.app(dict(scope, headers=headers), receive, send_styled)


async def _send_page(start: MutableMapping[str, Any], page: bytes, send: Send) -> None:
    styled = page.replace(_END, _read_style() + _END, 1)
    headers = MutableHeaders(raw=list(start["headers"]))
    headers["Content-Length"] = str(len(styled))
    for name in ("etag", "last-modified", "accept-ranges"):  # they are about Streamlit's file
        if name in headers:
            del headers[name]
    await send({**start, "headers": headers.raw})
    await send({"type": "http.response.body", "body": styled})


@cache
def _read_style() -> bytes:
    """Return the style element. Nested in ``html``, our rules win over Streamlit's, which are as specific."""
    return b"<style>html {\n" + STYLE.read_bytes() + b"}</style>"
