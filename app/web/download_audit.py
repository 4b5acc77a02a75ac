"""Has the audit say who downloaded which file from a page."""

from email.message import Message as Header

from anyio import CapacityLimiter, to_thread
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.web import url_paths, visitors

_writers = CapacityLimiter(4)


class Downloads:
    """Looks at the answers that browsers store as files; it stands behind the login, which says who asks."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes everything on."""
        if scope["type"] != "http" or scope["method"] != "GET" or not url_paths.below(scope).startswith("/media/"):
            await self.app(scope, receive, send)
            return

        async def watched(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] in (200, 206):
                name = _file_name(Headers(raw=message["headers"]).get("content-disposition", ""))
                if name:
                    audit = visitors.library(scope).catalog.audit
                    await to_thread.run_sync(audit.write_or_log, "downloaded", "", name, limiter=_writers)
            await send(message)

        await self.app(scope, receive, watched)


def _file_name(disposition: str) -> str:
    """The name under which a browser stores an answer; empty where it shows it."""
    header = Header()
    header["Content-Disposition"] = disposition
    return (header.get_filename() or "a file") if header.get_content_disposition() == "attachment" else ""
