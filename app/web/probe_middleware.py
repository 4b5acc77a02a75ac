"""What Streamlit's page asks below each address until it finds its server: ``/kernels/_stcore/health`` and the like.

It tries the address of the page first and its parent next, because it cannot know below which path it is served. The
first does not exist; a "not found" there would stand as an error in the console of everybody who opens a link. "Not
modified" is as little a yes, and no error.
"""

import re

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from app.web import url_paths

_PROBE = re.compile(r"/[a-z_]+/_stcore/(health|host-config)")


class ProbeMiddleware:
    """Answers these with 304 and an empty body."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes on everything else."""
        if scope["type"] == "http" and _PROBE.fullmatch(url_paths.strip_base(scope)):
            await Response(status_code=304)(scope, receive, send)
        else:
            await self.app(scope, receive, send)
