"""Refuse requests for a foreign host or from the pages of a foreign origin.

After DNS rebinding a page of elsewhere sends its own name as Host; a page of elsewhere that opens a connection sends
its own Origin. Streamlit checks both for its WebSocket alone, and accepts localhost on every port as origin.
"""

import re
from urllib.parse import urlsplit

import streamlit as st
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from app import streamlit_private
from app.web import url_paths
from profiledb.library import server_file

_LOCAL_PATHS = ("/_stcore/health", url_paths.HEALTH_PATH, url_paths.LIVE_PATH, server_file.PATH)
"""Paths that this machine may ask by its own address, whatever host names are allowed. None reveals a report."""
_LOCAL_HOST = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:\d+)?")
_MESSAGES = {
    "host": "This server does not answer to that host name; it is not in server.allowedHosts.",
    "origin": "This server answers only its own pages; that origin is not in server.corsAllowedOrigins.",
}


class TrustedHostMiddleware:
    """Refuse HTTP requests and WebSockets with a foreign Host or Origin."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        foreign = find_foreign_header(hosts, origins)
        is_local_probe = url_paths.strip_base(scope) in _LOCAL_PATHS and hosts and _is_local(hosts[0]) and not origins
        if not foreign or is_local_probe:
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})  # before it is accepted: the handshake gets a 403
        else:
            await PlainTextResponse(_MESSAGES[foreign], status_code=403)(scope, receive, send)


def find_foreign_header(hosts: list[str], origins: list[str]) -> str:
    """Return ``host`` or ``origin`` if that header is foreign, else an empty string.

    A missing Origin is fine: programs send none, and browsers send one wherever a foreign page could do harm.
    """
    if len(hosts) != 1 or not streamlit_private.is_host_allowed(hosts[0]):
        return "host"
    if not origins:
        return ""
    allowed = st.get_option("server.corsAllowedOrigins")
    if len(origins) == 1 and (_is_same_origin(origins[0], hosts[0]) or origins[0] in allowed):
        return ""
    return "origin"


def _is_local(host: str) -> bool:
    """Return True if the host is this machine's own address, as health checks and ``warpdeck open`` use it."""
    return bool(_LOCAL_HOST.fullmatch(host))


def _is_same_origin(origin: str, host: str) -> bool:
    """Return True if a page at this origin came from this host. Schemes may differ: a proxy may have ended TLS."""
    try:
        url = urlsplit(origin)
    except ValueError:
        return False
    return url.scheme in ("http", "https") and url.netloc.lower() == host.lower()
