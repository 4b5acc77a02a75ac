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
    login_state,
    refusal_throttle,
    roles,
    sharing_route,
    sign_in_middleware,
    upload_middleware,
    url_paths,
    visitors,
)
from app.web.problem_json import make_problem_response
from app.web.roles import Standing
from profiledb import config
from profiledb.access.operations.tokens import Role, Token, tokens_of
from profiledb.errors import CatalogError
from profiledb.library import server_file
from profiledb.library.spaces import OF_PROGRAMS
from profiledb.library.visitor import NOBODY, Visitor

PAGE_PATHS = {"/", f"/{page_list.ADMIN_URL}", *(f"/{view.url}" for view in page_list.VIEWS)}
"""Pages: Streamlit answers each with the same file, which holds nothing; what a page shows comes by WebSocket."""

PUBLIC_PATHS = PAGE_PATHS | {
    "/favicon.png",
    "/manifest.json",
    "/_stcore/health",
    "/_stcore/host-config",
    "/_stcore/stream",
    sign_in_middleware.LOGIN_PATH,
    sign_in_middleware.LOGOUT_PATH,
    sign_in_middleware.CALLBACK_PATH,
    url_paths.HEALTH_PATH,
    url_paths.LIVE_PATH,
    server_file.PATH,
}
MCP_PATH = "/mcp"
PROGRAM_PREFIXES = ("/api/v1/", MCP_PATH)
"""Where a token opens what its role may ask."""
GUEST_PREFIXES = ("/_warpdeck/timeline/", "/media/", "/component/", "/_stcore/bidi-components/")
"""What pages of a report ask for beside themselves; the routes among these look at the report."""
PUBLIC_MESSAGES = ("rerun_script", "stop_script", "app_heartbeat")
"""Messages of a page that tell nothing by themselves; others fetch rows of a table or have a file made."""
_READ_METHODS = ("GET", "HEAD", "OPTIONS")
STATIC_PREFIX = "/static/"
"""Streamlit's own scripts, styles and fonts."""
_LOOKUPS = CapacityLimiter(8)
"""Tokens that are looked up at once; it keeps them from using up the threads that requests have."""
_log = logging.getLogger("warpdeck")
_STANDINGS: dict[Role, Standing] = {"viewer": Standing.VIEWER, "editor": Standing.EDITOR, "admin": Standing.ADMIN}


class LoginRequiredMiddleware:
    """Asks for the login cookies on every request but those, and for an editor's on those that change something."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes on what its sender may ask for."""
        if scope["type"] == "websocket" and login_cookie.has_login():
            await self._page(scope, receive, send)
            return
        if scope["type"] != "http" or not login_cookie.has_login():
            await self.app(scope, receive, send)
            return
        needed = get_required_standing(scope["method"], url_paths.strip_base(scope))
        if needed == Standing.ANONYMOUS:
            await self.app(scope, receive, send)
            return
        try:
            has, visitor = await identify_sender(scope)
        except CatalogError as error:  # the database that has tokens and logins is away
            await _refuse(scope, 503, error.message)(scope, receive, send)
            return
        except TokenError as error:
            wait = await refusal_throttle.count_refusal(scope, "refused token", "token", error.name, error.why)
            await _refuse(scope, 429 if wait else 401, error.words, wait)(scope, receive, send)
            return
        if has >= needed:
            visitors.set_visitor(scope, visitor)
            await self.app(scope, receive, send)
        elif has == Standing.ANONYMOUS:
            await _refuse(scope, 401, "Log in first.")(scope, receive, send)
        else:
            await _refuse(scope, 403, "Your role does not allow this.")(scope, receive, send)

    async def _page(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes on what the page in a browser says: its script looks by itself who asks, whatever else it may say is
        for those who may look at something, and ends the WebSocket of anybody else, also of who has logged out."""
        closed = False

        async def checked() -> Message:
            nonlocal closed
            message = await receive()
            if message["type"] != "websocket.receive" or await _may_send(scope, message.get("bytes") or b""):
                return message
            await send({"type": "websocket.close", "code": 1008})
            closed = True
            return {"type": "websocket.disconnect", "code": 1008}

        async def answer(message: Message) -> None:
            if not closed:
                await send(message)

        await self.app(scope, checked, answer)


async def _may_send(scope: Scope, message: bytes) -> bool:
    """Whether a message of a page is for everybody, or its sender may look at something."""
    said = BackMsg()
    try:
        said.ParseFromString(message)
    except DecodeError:  # which Streamlit refuses
        return True
    if said.WhichOneof("type") in PUBLIC_MESSAGES:
        return True
    try:
        return (await identify_sender(scope))[0] >= Standing.GUEST
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


def _refuse(scope: Scope, status: int, words: str, headers: Mapping[str, str] | None = None) -> Response:
    if url_paths.strip_base(scope).startswith(PROGRAM_PREFIXES):
        answer = make_problem_response(status, words)
        answer.headers.update(headers or {})
        return answer
    return PlainTextResponse(words, status_code=status, headers=headers)


def get_required_standing(method: str, path: str) -> Standing:
    """The least standing that a request needs; ``path`` is that below the address of the dashboard."""
    if path.startswith(upload_middleware.PREFIX):
        return Standing.EDITOR
    if path.startswith(GUEST_PREFIXES) and method in _READ_METHODS:
        return Standing.GUEST
    if path == MCP_PATH:
        return Standing.VIEWER  # its tools read, by POST
    if method == "POST" and path.rstrip("/") == sign_in_middleware.LOGOUT_PATH:
        return Standing.ANONYMOUS  # it looks itself
    reads = method in _READ_METHODS
    if reads and ((path.rstrip("/") or "/") in PUBLIC_PATHS or path.startswith((STATIC_PREFIX, sharing_route.PREFIX))):
        return Standing.ANONYMOUS
    return Standing.VIEWER if reads else Standing.EDITOR


async def identify_sender(scope: Scope) -> tuple[Standing, Visitor]:
    """Whoever sent a request, and their standing: by its cookies, or by the token that a program shows.

    Both are looked up where others do not wait for it: the database that has them may be away.

    Raises:
        TokenError: the token is none of ours, or has ended.
        CatalogError: the database is away.
    """
    connection = HTTPConnection(scope)
    if text := _read_token(connection):
        if not url_paths.strip_base(scope).startswith(PROGRAM_PREFIXES):
            return Standing.ANONYMOUS, NOBODY
        token = await to_thread.run_sync(_look_up_token, text, limiter=_LOOKUPS)
        return _STANDINGS[token.role], _make_visitor(token)
    claims = await to_thread.run_sync(login_state.read_live_claims, connection.cookies, limiter=_LOOKUPS)
    settings, now = config.load(), time.time()
    has = roles.get_standing(claims, settings, now)
    if has < Standing.VIEWER:
        share = await to_thread.run_sync(sharing_route.find_share, connection.cookies, limiter=_LOOKUPS)
        if share:
            return Standing.GUEST, sharing_route.make_visitor(share)
    return has, roles.make_visitor(claims, settings, now)


def _look_up_token(text: str) -> Token:
    """The token that a program shows, whose use is noted. Raises what ``sender`` does."""
    token = tokens_of(config.load()).shown(text)
    if token is None:
        raise TokenError("There is no such token.")
    if token.has_ended:
        raise TokenError(f"This token {token.lasts}. Ask an admin for another one.", token.name, "ended")
    try:
        visitors.get_whole_library().catalog.token_uses.note(token.id)
    except CatalogError as error:
        _log.warning("The last use of the token %r is not noted: %s", token.name, error.message)
    return token


def _make_visitor(token: Token) -> Visitor:
    """Who shows a token: spaces know it by its name."""
    groups = None if token.role == "admin" else frozenset({OF_PROGRAMS + token.name})
    return Visitor(token.name, "token", groups)


def _read_token(connection: HTTPConnection) -> str:
    kind, _, text = connection.headers.get("authorization", "").partition(" ")
    return text.strip() if kind.lower() == "bearer" else ""
