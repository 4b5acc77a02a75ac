"""What every answer carries: a browser loads nothing from elsewhere, frames nothing, guesses no types."""

import base64
import hashlib
import re
from functools import cache
from pathlib import Path

import streamlit as st
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.web import login_cookie, url_paths

# A script without src, as Streamlit's page has one. Comments go first: what stands in them is no script.
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_INLINE = re.compile(r"<script>(.*?)</script>", re.DOTALL)


class SecurityHeadersMiddleware:
    """Adds the headers to every answer of the application, static files and refusals included."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on and completes its answer."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def complete(message: Message) -> None:
            if message["type"] == "http.response.start":
                set_security_headers(MutableHeaders(scope=message), url_paths.strip_base(scope))
                if is_https(scope):
                    secure_cookies(message)
            await send(message)

        await self.app(scope, receive, complete)


def set_security_headers(headers: MutableHeaders, path: str = "/") -> None:
    """Sets the headers on an answer to ``path``; what a report gave is kept by no cache that people share."""
    headers["Content-Security-Policy"] = build_policy()
    headers["X-Frame-Options"] = "DENY"
    headers["X-Content-Type-Options"] = "nosniff"
    headers["Referrer-Policy"] = "no-referrer"
    headers["Cross-Origin-Opener-Policy"] = "same-origin"
    headers["Cross-Origin-Resource-Policy"] = "same-origin"
    if path.startswith("/media/"):
        headers.setdefault("Cache-Control", "private, no-cache")


def is_https(scope: Scope) -> bool:
    """Whether browsers come by https: to this server, to a proxy that it believes, or as the login's address says."""
    return scope.get("scheme") == "https" or (
        login_cookie.has_login() and login_cookie.get_origin().startswith("https:")
    )


def secure_cookies(start: Message) -> None:
    """Has browsers send the cookies of an answer by https alone."""
    start["headers"] = [
        (name, value + b"; Secure" if name == b"set-cookie" and b"; secure" not in value.lower() else value)
        for name, value in start["headers"]
    ]


async def answer_server_error(_: Request, __: Exception) -> Response:
    """The answer to an error that nobody foresaw: it is made outside of the middleware, so it gets the headers here."""
    response = PlainTextResponse("Something went wrong. The server's log says more.", status_code=500)
    set_security_headers(response.headers)
    return response


@cache
def build_policy() -> str:
    """The content security policy.

    Scripts are those that the server serves, and the inline ones of Streamlit's own page, named by their hashes.
    Of WebAssembly, which Streamlit's reader of messages uses for its 64-bit numbers, nothing else comes in by itself.
    Styles may stand inline: Streamlit and Plotly make theirs while they run. ``data:`` and ``blob:`` are pictures that
    the page itself draws (icons, what Plotly saves) and the workers that Streamlit's tables start.
    """
    page = Path(st.__file__).with_name("static") / "index.html"
    hashes = [_hash_script(script) for script in _INLINE.findall(_COMMENT.sub("", page.read_text(encoding="utf-8")))]
    rules = {
        "default-src": "'none'",
        "script-src": " ".join(["'self'", "'wasm-unsafe-eval'", *hashes]),
        "style-src": "'self' 'unsafe-inline'",
        "img-src": "'self' data: blob:",
        "font-src": "'self' data:",
        "connect-src": "'self'",
        "media-src": "'self'",
        "worker-src": "'self' blob:",
        "manifest-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'self'",
        "frame-ancestors": "'none'",
    }
    return "; ".join(f"{name} {sources}" for name, sources in rules.items())


def _hash_script(script: str) -> str:
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
