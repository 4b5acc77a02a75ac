"""Set the security headers of every response, the content security policy above all."""

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

from app import streamlit_private
from app.web import login_cookie, page_head_middleware, url_paths

# Streamlit's page has inline scripts, and commented-out ones that a browser does not run.
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_INLINE = re.compile(r"<script>(.*?)</script>", re.DOTALL)


class SecurityHeadersMiddleware:
    """Add the headers to every response of the application, static files and refusals included."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_hardened(message: Message) -> None:
            if message["type"] == "http.response.start":
                set_security_headers(MutableHeaders(scope=message), url_paths.strip_base(scope))
                if is_https(scope):
                    secure_cookies(message)
            await send(message)

        await self.app(scope, receive, send_hardened)


def set_security_headers(headers: MutableHeaders, path: str = "/") -> None:
    """Set the headers of a response to ``path``. Shared caches may not store data of reports (``/media/``)."""
    headers["Content-Security-Policy"] = build_policy()
    headers["X-Frame-Options"] = "DENY"
    headers["X-Content-Type-Options"] = "nosniff"
    headers["Referrer-Policy"] = "no-referrer"
    headers["Cross-Origin-Opener-Policy"] = "same-origin"
    headers["Cross-Origin-Resource-Policy"] = "same-origin"
    if path.startswith("/media/"):
        headers.setdefault("Cache-Control", "private, no-cache")


def is_https(scope: Scope) -> bool:
    """Return True if browsers come by https: directly, by a trusted proxy, or according to the login's address."""
    if scope.get("scheme") == "https":
        return True
    return login_cookie.has_login() and streamlit_private.get_login_origin().startswith("https:")


def secure_cookies(start: Message) -> None:
    """Mark the cookies that a response sets as ``Secure``."""
    start["headers"] = [
        (name, value + b"; Secure" if name == b"set-cookie" and b"; secure" not in value.lower() else value)
        for name, value in start["headers"]
    ]


async def answer_server_error(_: Request, __: Exception) -> Response:
    """Answer an unforeseen error. Starlette sends this outside of all middleware, so it sets the headers itself."""
    response = PlainTextResponse("Something went wrong. The server's log says more.", status_code=500)
    set_security_headers(response.headers)
    return response


@cache
def build_policy() -> str:
    """Return the content security policy.

    Scripts come from this server, or are inline scripts of Streamlit's page or our own in it, allowed by their hashes.
    ``wasm-unsafe-eval``: Streamlit's protobuf reader uses WebAssembly for 64-bit integers. Inline styles: Streamlit
    and Plotly create theirs at run time. ``data:`` and ``blob:``: images that the page draws itself (icons, plots
    saved by Plotly) and the workers of Streamlit's tables.
    """
    page = Path(st.__file__).with_name("static") / "index.html"
    scripts = _INLINE.findall(_COMMENT.sub("", page.read_text(encoding="utf-8")))
    hashes = [
        _hash_script(script) for script in (*scripts, page_head_middleware.EARLY_KEYS.read_text(encoding="utf-8"))
    ]
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
