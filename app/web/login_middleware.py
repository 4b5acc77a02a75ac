"""Require a login for everything but the empty shell of a page. Paths that are not listed here are closed."""

import logging
import time
from collections.abc import Mapping

from anyio import CapacityLimiter, to_thread
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app import page_list, streamlit_private
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
from profiledb.access.operations.tokens import Role, Token, open_tokens
from profiledb.errors import CatalogError
from profiledb.library import server_file
from profiledb.library.space_registry import OF_PROGRAMS
from profiledb.library.visitor import NOBODY, Visitor

PAGE_PATHS = {"/", f"/{page_list.ADMIN_URL}", *(f"/{view.url}" for view in page_list.VIEWS)}
"""Streamlit answers every page with the same empty file; the content of the page comes by WebSocket."""

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
PROGRAM_PREFIXES = ("/api/v1/", url_paths.MCP_PATH)
"""Paths that take tokens, as far as the token's role allows."""
GUEST_PREFIXES = ("/_warpdeck/timeline/", "/media/", "/component/", "/_stcore/bidi-components/")
"""Paths that the pages of a report load from; the routes among them check which report."""
PUBLIC_MESSAGES = ("rerun_script", "stop_script", "app_heartbeat")
"""WebSocket messages that reveal nothing by themselves; others fetch rows of a table or create a file."""
_READ_METHODS = ("GET", "HEAD", "OPTIONS")
STATIC_PREFIX = "/static/"
"""Streamlit's own scripts, styles and fonts."""
_LOOKUPS = CapacityLimiter(8)
"""Lookups of tokens and logins at once, in threads of their own: the database may hang, and requests must not."""
_STANDINGS: dict[Role, Standing] = {"viewer": Standing.VIEWER, "editor": Standing.EDITOR, "admin": Standing.ADMIN}
_log = logging.getLogger("warpdeck")


class TokenError(Exception):
    """A token that opens nothing.

    Args:
        message: sentence for the sender.
        name: the token's name, if it is genuine.
        reason: why it is refused, for the audit.
    """

    def __init__(self, message: str, name: str = "", reason: str = "") -> None:
        super().__init__(message)
        self.message, self.name, self.reason = message, name, reason


class LoginRequiredMiddleware:
    """Let requests pass whose sender has the standing that the path and the method require."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection; note the visitor in its scope."""
        if scope["type"] == "websocket" and login_cookie.has_login():
            await self._handle_websocket(scope, receive, send)
            return
        if scope["type"] != "http" or not login_cookie.has_login():
            await self.app(scope, receive, send)
            return
        required = get_required_standing(scope["method"], url_paths.strip_base(scope))
        if required == Standing.ANONYMOUS:
            await self.app(scope, receive, send)
            return
        try:
            standing, visitor = await identify_sender(scope)
        except CatalogError as error:  # the database with tokens and logins is unreachable
            await _make_refusal(scope, 503, error.message)(scope, receive, send)
            return
        except TokenError as error:
            wait = await refusal_throttle.count_refusal(scope, "refused token", "token", error.name, error.reason)
            await _make_refusal(scope, 429 if wait else 401, error.message, wait)(scope, receive, send)
            return
        if standing >= required:
            visitors.set_visitor(scope, visitor)
            await self.app(scope, receive, send)
        elif standing == Standing.ANONYMOUS:
            await _make_refusal(scope, 401, "Log in first.")(scope, receive, send)
        else:
            await _make_refusal(scope, 403, "Your role does not allow this.")(scope, receive, send)

    async def _handle_websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Close the WebSocket at the first message that its sender may not send, also after they logged out.

        The page script checks by itself who runs it; all other messages are for people who may look at something.
        """
        closed = False

        async def receive_allowed() -> Message:
            nonlocal closed
            message = await receive()
            if message["type"] != "websocket.receive" or await _may_send(scope, message.get("bytes") or b""):
                return message
            await send({"type": "websocket.close", "code": 1008})
            closed = True
            return {"type": "websocket.disconnect", "code": 1008}

        async def send_if_open(message: Message) -> None:
            if not closed:
                await send(message)

        await self.app(scope, receive_allowed, send_if_open)


async def _may_send(scope: Scope, message: bytes) -> bool:
    """Return True if the message is a public one, or its sender may look at something."""
    try:
        kind = streamlit_private.parse_message_kind(message)
    except ValueError:  # Streamlit refuses it
        return True
    if kind in PUBLIC_MESSAGES:
        return True
    try:
        return (await identify_sender(scope))[0] >= Standing.GUEST
    except CatalogError:
        return False


def _make_refusal(scope: Scope, status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    if url_paths.strip_base(scope).startswith(PROGRAM_PREFIXES):
        response = make_problem_response(status, message)
        response.headers.update(headers or {})
        return response
    return PlainTextResponse(message, status_code=status, headers=headers)


def get_required_standing(method: str, path: str) -> Standing:
    """Return the least standing that a request needs; ``path`` is relative to the address of the dashboard."""
    if path.startswith(upload_middleware.PREFIX):
        return Standing.EDITOR
    if path.startswith(GUEST_PREFIXES) and method in _READ_METHODS:
        return Standing.GUEST
    if path == url_paths.MCP_PATH:
        return Standing.VIEWER  # its tools only read, although by POST
    if method == "POST" and path.rstrip("/") == sign_in_middleware.LOGOUT_PATH:
        return Standing.ANONYMOUS  # SignInMiddleware checks it
    reads = method in _READ_METHODS
    if reads and ((path.rstrip("/") or "/") in PUBLIC_PATHS or path.startswith((STATIC_PREFIX, sharing_route.PREFIX))):
        return Standing.ANONYMOUS
    return Standing.VIEWER if reads else Standing.EDITOR


async def identify_sender(scope: Scope) -> tuple[Standing, Visitor]:
    """Return who sent a request and their standing, by its cookies or by the token of a program.

    Raises:
        TokenError: the token does not exist or has expired.
        CatalogError: the database is unreachable.
    """
    connection = HTTPConnection(scope)
    if text := _read_token(connection):
        if not url_paths.strip_base(scope).startswith(PROGRAM_PREFIXES):
            return Standing.ANONYMOUS, NOBODY
        token = await to_thread.run_sync(_look_up_token, text, limiter=_LOOKUPS)
        return _STANDINGS[token.role], _make_visitor(token)
    claims = await to_thread.run_sync(login_state.read_live_claims, connection.cookies, limiter=_LOOKUPS)
    settings, now = config.load(), time.time()
    standing = roles.get_standing(claims, settings, now)
    if standing < Standing.VIEWER:
        share = await to_thread.run_sync(sharing_route.find_share, connection.cookies, limiter=_LOOKUPS)
        if share:
            return Standing.GUEST, sharing_route.make_visitor(share)
    return standing, roles.make_visitor(claims, settings, now)


def _look_up_token(text: str) -> Token:
    """Return the token and note its use. Raises ``TokenError`` and ``CatalogError`` like ``identify_sender``."""
    token = open_tokens(config.load()).shown(text)
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
    """Return the visitor that a token stands for. Spaces list programs by the names of their tokens."""
    groups = None if token.role == "admin" else frozenset({OF_PROGRAMS + token.name})
    return Visitor(token.name, "token", groups)


def _read_token(connection: HTTPConnection) -> str:
    scheme, _, text = connection.headers.get("authorization", "").partition(" ")
    return text.strip() if scheme.lower() == "bearer" else ""
