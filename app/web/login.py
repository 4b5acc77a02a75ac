"""With a login, nothing but the empty shell of a page is for everybody. What is not listed here is closed."""

import time

from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from app import pages
from app.web import identity, paths, uploads
from app.web.roles import Standing, standing
from profiledb import config
from profiledb.report import serving

SHELL = {"/", *(f"/{view.url}" for view in pages.VIEWS)}
"""Pages: Streamlit answers each with the same file, which holds nothing; what a page shows comes by WebSocket."""

OPEN = SHELL | {
    "/favicon.png",
    "/manifest.json",
    "/_stcore/health",
    "/_stcore/host-config",
    "/_stcore/stream",
    "/auth/login",
    "/auth/logout",
    "/oauth2callback",
    serving.PATH,
}
STATIC = "/static/"
"""Streamlit's own scripts, styles and fonts."""


class LoginGuard:
    """Asks for the login cookie on every request but those, and for an editor's on those that change something."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes on what its sender may ask for."""
        if scope["type"] != "http" or not identity.login():
            await self.app(scope, receive, send)
            return
        needed = needs(scope["method"], paths.below(scope))
        if needed == Standing.ANONYMOUS or (has := sender(scope)) >= needed:
            await self.app(scope, receive, send)
        elif has == Standing.ANONYMOUS:
            await PlainTextResponse("Log in first.", status_code=401)(scope, receive, send)
        else:
            await PlainTextResponse("Your role does not allow this.", status_code=403)(scope, receive, send)


def needs(method: str, path: str) -> Standing:
    """The least standing that a request needs; ``path`` is that below the address of the dashboard."""
    if path.startswith(uploads.PREFIX):
        return Standing.EDITOR
    reads = method in ("GET", "HEAD", "OPTIONS")
    if reads and ((path.rstrip("/") or "/") in OPEN or path.startswith(STATIC)):
        return Standing.ANONYMOUS
    return Standing.VIEWER if reads else Standing.EDITOR


def sender(scope: Scope) -> Standing:
    """The standing of whoever sent a request, by its cookie."""
    return standing(identity.claims(HTTPConnection(scope).cookies), config.load(), time.time())
