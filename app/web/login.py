"""With a login, nothing but the empty shell of a page is for everybody. What is not listed here is closed."""

import time

from anyio import CapacityLimiter, to_thread
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from app import pages
from app.web import identity, paths, roles, shared, uploads, visitors
from app.web.problems import problem
from app.web.roles import Standing
from profiledb import config
from profiledb.errors import CatalogError
from profiledb.operations.tokens import Role, Token, tokens_of
from profiledb.report import serving
from profiledb.report.spaces import OF_PROGRAMS
from profiledb.report.visitor import NOBODY, Visitor

SHELL = {"/", f"/{pages.ADMIN_URL}", *(f"/{view.url}" for view in pages.VIEWS)}
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
    paths.HEALTH,
    paths.LIVE,
    serving.PATH,
}
MCP = "/mcp"
FOR_PROGRAMS = ("/api/v1/", MCP)
"""Where a token opens what its role may ask."""
FOR_GUESTS = ("/_warpdeck/timeline/", "/media/", "/component/", "/_stcore/bidi-components/")
"""What pages of a report ask for beside themselves; the routes among these look at the report."""
_READ = ("GET", "HEAD", "OPTIONS")
STATIC = "/static/"
"""Streamlit's own scripts, styles and fonts."""
_LOOKS = CapacityLimiter(8)
"""Tokens that are looked up at once; it keeps them from using up the threads that requests have."""
_OF_ROLE: dict[Role, Standing] = {"viewer": Standing.VIEWER, "editor": Standing.EDITOR, "admin": Standing.ADMIN}


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
        if needed == Standing.ANONYMOUS:
            await self.app(scope, receive, send)
            return
        try:
            has, visitor = await sender(scope)
        except CatalogError as error:  # the database that has the tokens is away
            await _refusal(scope, 503, error.message)(scope, receive, send)
            return
        if has >= needed:
            visitors.note(scope, visitor)
            await self.app(scope, receive, send)
        elif has == Standing.ANONYMOUS:
            await _refusal(scope, 401, "Log in first.")(scope, receive, send)
        else:
            await _refusal(scope, 403, "Your role does not allow this.")(scope, receive, send)


def _refusal(scope: Scope, status: int, words: str) -> Response:
    if paths.below(scope).startswith(FOR_PROGRAMS):
        return problem(status, words)
    return PlainTextResponse(words, status_code=status)


def needs(method: str, path: str) -> Standing:
    """The least standing that a request needs; ``path`` is that below the address of the dashboard."""
    if path.startswith(uploads.PREFIX):
        return Standing.EDITOR
    if path.startswith(FOR_GUESTS) and method in _READ:
        return Standing.GUEST
    if path == MCP:
        return Standing.VIEWER  # its tools read, by POST
    reads = method in _READ
    if reads and ((path.rstrip("/") or "/") in OPEN or path.startswith((STATIC, shared.PREFIX))):
        return Standing.ANONYMOUS
    return Standing.VIEWER if reads else Standing.EDITOR


async def sender(scope: Scope) -> tuple[Standing, Visitor]:
    """Whoever sent a request, and their standing: by its cookie, or by the token that a program shows.

    A token is looked up where others do not wait for it: the database that has it may be away.
    """
    connection = HTTPConnection(scope)
    if text := _token(connection):
        if not paths.below(scope).startswith(FOR_PROGRAMS):
            return Standing.ANONYMOUS, NOBODY
        token = await to_thread.run_sync(lambda: tokens_of(config.load()).shown(text), limiter=_LOOKS)
        return (_OF_ROLE[token.role], _program(token)) if token else (Standing.ANONYMOUS, NOBODY)
    claims, settings, now = identity.claims(connection.cookies), config.load(), time.time()
    has = roles.standing(claims, settings, now)
    if has < Standing.VIEWER:
        share = await to_thread.run_sync(shared.of, connection.cookies, limiter=_LOOKS)
        if share:
            return Standing.GUEST, shared.visitor(share)
    return has, roles.visitor(claims, settings, now)


def _program(token: Token) -> Visitor:
    """Who shows a token: spaces know it by its name."""
    groups = None if token.role == "admin" else frozenset({OF_PROGRAMS + token.name})
    return Visitor(token.name, "token", groups)


def _token(connection: HTTPConnection) -> str:
    kind, _, text = connection.headers.get("authorization", "").partition(" ")
    return text.strip() if kind.lower() == "bearer" else ""
