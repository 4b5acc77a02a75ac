"""With a login, nothing but the empty shell of a page is for everybody. What is not listed here is closed."""

import logging
import time
from collections.abc import Mapping

from anyio import CapacityLimiter, to_thread
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.proto.BackMsg_pb2 import BackMsg

from app import page_list
from app.web import (
    login_cookie,
    login_generation,
    refusal_throttle,
    roles,
    sharing_middleware,
    sign_in_middleware,
    upload_middleware,
    url_paths,
    visitors,
)
from app.web.problem_json import problem
from app.web.roles import Standing
from profiledb import config
from profiledb.access.operations.tokens import Role, Token, open_tokens
from profiledb.errors import CatalogError
from profiledb.library import server_file
from profiledb.library.space_registry import OF_PROGRAMS
from profiledb.library.visitor import NOBODY, Visitor

SHELL = {"/", f"/{page_list.ADMIN_URL}", *(f"/{view.url}" for view in page_list.VIEWS)}
"""Pages: Streamlit answers each with the same file, which holds nothing; what a page shows comes by WebSocket."""

OPEN = SHELL | {
    "/favicon.png",
    "/manifest.json",
    "/_stcore/health",
    "/_stcore/host-config",
    "/_stcore/stream",
    sign_in_middleware.PATH,
    sign_in_middleware.LOGOUT,
    sign_in_middleware.CALLBACK,
    url_paths.HEALTH,
    url_paths.LIVE,
    server_file.PATH,
}
MCP = "/mcp"
FOR_PROGRAMS = ("/api/v1/", MCP)
"""Where a token opens what its role may ask."""
FOR_GUESTS = ("/_warpdeck/timeline/", "/media/", "/component/", "/_stcore/bidi-components/")
"""What pages of a report ask for beside themselves; the routes among these look at the report."""
OF_EVERYBODY = ("rerun_script", "stop_script", "app_heartbeat")
"""Messages of a page that tell nothing by themselves; others fetch rows of a table or have a file made."""
_READ = ("GET", "HEAD", "OPTIONS")
STATIC = "/static/"
"""Streamlit's own scripts, styles and fonts."""
_LOOKS = CapacityLimiter(8)
"""Tokens that are looked up at once; it keeps them from using up the threads that requests have."""
_log = logging.getLogger("warpdeck")
_OF_ROLE: dict[Role, Standing] = {"viewer": Standing.VIEWER, "editor": Standing.EDITOR, "admin": Standing.ADMIN}


class LoginGuard:
    """Asks for the login cookies on every request but those, and for an editor's on those that change something."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes on what its sender may ask for."""
        if scope["type"] == "websocket" and login_cookie.login():
            await self._page(scope, receive, send)
            return
        if scope["type"] != "http" or not login_cookie.login():
            await self.app(scope, receive, send)
            return
        needed = needs(scope["method"], url_paths.below(scope))
        if needed == Standing.ANONYMOUS:
            await self.app(scope, receive, send)
            return
        try:
            has, visitor = await sender(scope)
        except CatalogError as error:  # the database that has tokens and logins is away
            await _refusal(scope, 503, error.message)(scope, receive, send)
            return
        except TokenError as error:
            wait = await refusal_throttle.refuse(scope, "refused token", "token", error.name, error.why)
            await _refusal(scope, 429 if wait else 401, error.words, wait)(scope, receive, send)
            return
        if has >= needed:
            visitors.note(scope, visitor)
            await self.app(scope, receive, send)
        elif has == Standing.ANONYMOUS:
            await _refusal(scope, 401, "Log in first.")(scope, receive, send)
        else:
            await _refusal(scope, 403, "Your role does not allow this.")(scope, receive, send)

    async def _page(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes on what the page in a browser says: its script looks by itself who asks, whatever else it may say is
        for those who may look at something, and ends the WebSocket of anybody else, also of who has logged out."""
        closed = False

        async def checked() -> Message:
            nonlocal closed
            message = await receive()
            if message["type"] != "websocket.receive" or await _may_say(scope, message.get("bytes") or b""):
                return message
            await send({"type": "websocket.close", "code": 1008})
            closed = True
            return {"type": "websocket.disconnect", "code": 1008}

        async def answer(message: Message) -> None:
            if not closed:
                await send(message)

        await self.app(scope, checked, answer)


async def _may_say(scope: Scope, message: bytes) -> bool:
    """Whether a message of a page is for everybody, or its sender may look at something."""
    said = BackMsg()
    try:
        said.ParseFromString(message)
    except DecodeError:  # which Streamlit refuses
        return True
    if said.WhichOneof("type") in OF_EVERYBODY:
        return True
    try:
        return (await sender(scope))[0] >= Standing.GUEST
    except CatalogError:
        return False


class TokenError(Exception):
    """A token that opens nothing.

    Args:
        words: what its sender hears.
        name: of a token that is genuine.
        why: what the audit says beside that.
    """

    def __init__(self, words: str, name: str = "", why: str = "") -> None:
        super().__init__(words)
        self.words, self.name, self.why = words, name, why


def _refusal(scope: Scope, status: int, words: str, headers: Mapping[str, str] | None = None) -> Response:
    if url_paths.below(scope).startswith(FOR_PROGRAMS):
        answer = problem(status, words)
        answer.headers.update(headers or {})
        return answer
    return PlainTextResponse(words, status_code=status, headers=headers)


def needs(method: str, path: str) -> Standing:
    """The least standing that a request needs; ``path`` is that below the address of the dashboard."""
    if path.startswith(upload_middleware.PREFIX):
        return Standing.EDITOR
    if path.startswith(FOR_GUESTS) and method in _READ:
        return Standing.GUEST
    if path == MCP:
        return Standing.VIEWER  # its tools read, by POST
    if method == "POST" and path.rstrip("/") == sign_in_middleware.LOGOUT:
        return Standing.ANONYMOUS  # it looks itself
    reads = method in _READ
    if reads and ((path.rstrip("/") or "/") in OPEN or path.startswith((STATIC, sharing_middleware.PREFIX))):
        return Standing.ANONYMOUS
    return Standing.VIEWER if reads else Standing.EDITOR


async def sender(scope: Scope) -> tuple[Standing, Visitor]:
    """Whoever sent a request, and their standing: by its cookies, or by the token that a program shows.

    Both are looked up where others do not wait for it: the database that has them may be away.

    Raises:
        TokenError: the token is none of ours, or has ended.
        CatalogError: the database is away.
    """
    connection = HTTPConnection(scope)
    if text := _token(connection):
        if not url_paths.below(scope).startswith(FOR_PROGRAMS):
            return Standing.ANONYMOUS, NOBODY
        token = await to_thread.run_sync(_shown, text, limiter=_LOOKS)
        return _OF_ROLE[token.role], _program(token)
    claims = await to_thread.run_sync(login_generation.claims, connection.cookies, limiter=_LOOKS)
    settings, now = config.load(), time.time()
    has = roles.standing(claims, settings, now)
    if has < Standing.VIEWER:
        share = await to_thread.run_sync(sharing_middleware.of, connection.cookies, limiter=_LOOKS)
        if share:
            return Standing.GUEST, sharing_middleware.visitor(share)
    return has, roles.visitor(claims, settings, now)


def _shown(text: str) -> Token:
    """The token that a program shows, whose use is noted. Raises what ``sender`` does."""
    token = open_tokens(config.load()).shown(text)
    if token is None:
        raise TokenError("There is no such token.")
    if token.has_ended:
        raise TokenError(f"This token {token.lasts}. Ask an admin for another one.", token.name, "ended")
    try:
        visitors.whole().catalog.token_uses.note(token.id)
    except CatalogError as error:
        _log.warning("The last use of the token %r is not noted: %s", token.name, error.message)
    return token


def _program(token: Token) -> Visitor:
    """Who shows a token: spaces know it by its name."""
    groups = None if token.role == "admin" else frozenset({OF_PROGRAMS + token.name})
    return Visitor(token.name, "token", groups)


def _token(connection: HTTPConnection) -> str:
    kind, _, text = connection.headers.get("authorization", "").partition(" ")
    return text.strip() if kind.lower() == "bearer" else ""
