"""Answer the probes by which Streamlit's page looks for its server, such as ``/kernels/_stcore/health``.

The page cannot know the base path of its server: it probes below its own address first, and below the parent next. The
first address does not exist, and a 404 would show as an error in the browser's console for everybody who opens a link.
304 means no just as well, without an error.
"""

import re

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from app.web import url_paths

_PROBE = re.compile(r"/[a-z_]+/_stcore/(health|host-config)")


class ProbeMiddleware:
    """Answer probes below a page with 304 and no body."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] == "http" and _PROBE.fullmatch(url_paths.strip_base(scope)):
            await Response(status_code=304)(scope, receive, send)
        else:
            await self.app(scope, receive, send)
