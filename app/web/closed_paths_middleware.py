"""Addresses of Streamlit's own that nothing here needs: figures on caches and sessions, runs by programs."""

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from app.web import url_paths

CLOSED_PATHS = ("/_stcore/metrics", "/_stcore/script-health-check", "/_stcore/agent")


class ClosedPathsMiddleware:
    """Answers these with "not found", whatever the method and whatever Streamlit's options say."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes on everything else."""
        if scope["type"] == "http" and is_closed(url_paths.strip_base(scope)):
            await PlainTextResponse("Not found", status_code=404)(scope, receive, send)
        else:
            await self.app(scope, receive, send)


def is_closed(path: str) -> bool:
    """Whether an address is closed, or lies below one that is."""
    return any(path == closed or path.startswith(f"{closed}/") for closed in CLOSED_PATHS)
