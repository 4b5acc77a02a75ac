"""Only requests to a name of this server, and from its own pages: what keeps a page of elsewhere out.

A page whose name was pointed at this machine afterward (DNS rebinding) sends its own name as Host; another page that
opens a connection sends its own as Origin. Streamlit looks at both for its WebSocket alone, and takes every origin that
is localhost, whatever its port.
"""

import re
from urllib.parse import urlsplit

import streamlit as st
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from streamlit.web.server.starlette.starlette_websocket import is_host_allowed

from app.web import url_paths
from profiledb.library import server_file

_LOCAL_PATHS = ("/_stcore/health", url_paths.HEALTH_PATH, url_paths.LIVE_PATH, server_file.PATH)
"""Answered to this machine whatever names the server has; none tells anything of a report."""
_LOCAL_HOST = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:\d+)?")
_MESSAGES = {
    "host": "This server does not answer to that host name; it is not in server.allowedHosts.",
    "origin": "This server answers only its own pages; that origin is not in server.corsAllowedOrigins.",
}


class TrustedHostMiddleware:
    """Refuses requests and WebSockets with a foreign Host or Origin."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes on what names this server."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        wrong = find_foreign_header(hosts, origins)
        if not wrong or (url_paths.strip_base(scope) in _LOCAL_PATHS and hosts and _is_local(hosts[0]) and not origins):
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})  # before it was accepted: the handshake gets a 403
        else:
            await PlainTextResponse(_MESSAGES[wrong], status_code=403)(scope, receive, send)


def find_foreign_header(hosts: list[str], origins: list[str]) -> str:
    """What is foreign about a request: ``host``, ``origin``, or nothing. Programs send no Origin; browsers do."""
    if len(hosts) != 1 or not is_host_allowed(hosts[0]):
        return "host"
    if not origins:
        return ""
    origin = origins[0]
    if len(origins) == 1 and (
        _is_same_origin(origin, hosts[0]) or origin in st.get_option("server.corsAllowedOrigins")
    ):
        return ""
    return "origin"


def _is_local(host: str) -> bool:
    """Whether a host is this machine by its address: what looks after a server, or for it, asks like that."""
    return bool(_LOCAL_HOST.fullmatch(host))


def _is_same_origin(origin: str, host: str) -> bool:
    """Whether a page at this origin came from this host; TLS may end at a proxy, so that the scheme does not tell."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()
