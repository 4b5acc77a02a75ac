"""Close addresses of Streamlit that this server does not need: metrics of caches and sessions, runs by programs."""

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from app.web import url_paths

CLOSED_PATHS = ("/_stcore/metrics", "/_stcore/script-health-check", "/_stcore/agent")


class ClosedPathsMiddleware:
    """Answer closed paths with 404, whatever the method and whatever options of Streamlit say."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] == "http" and is_closed(url_paths.strip_base(scope)):
            await PlainTextResponse("Not found", status_code=404)(scope, receive, send)
        else:
            await self.app(scope, receive, send)


def is_closed(path: str) -> bool:
    """Return True if the path is closed or lies below a closed one."""
    return any(path == closed or path.startswith(f"{closed}/") for closed in CLOSED_PATHS)
