"""Record in the audit who downloaded which file from a page."""

from email.message import Message as Header

from anyio import CapacityLimiter, to_thread
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.web import url_paths, visitors

_writers = CapacityLimiter(4)


class DownloadAuditMiddleware:
    """Record responses that browsers save as files. Belongs behind the login, which knows the visitor."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] != "http" or scope["method"] != "GET" or not url_paths.strip_base(scope).startswith("/media/"):
            await self.app(scope, receive, send)
            return

        async def send_recorded(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] in (200, 206):
                name = _parse_file_name(Headers(raw=message["headers"]).get("content-disposition", ""))
                if name:
                    audit = visitors.get_library(scope).catalog.audit
                    await to_thread.run_sync(audit.write_or_log, "downloaded", "", name, limiter=_writers)
            await send(message)

        await self.app(scope, receive, send_recorded)


def _parse_file_name(disposition: str) -> str:
    """Return the name under which a browser saves a response; empty if it displays the response instead."""
    header = Header()
    header["Content-Disposition"] = disposition
    return (header.get_filename() or "a file") if header.get_content_disposition() == "attachment" else ""
