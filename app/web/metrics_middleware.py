"""Counts what comes and goes: open pages, and answers by the class of their status."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from profiledb.monitoring import counters

_STATUS_CLASSES = {2: "2xx", 3: "3xx", 4: "4xx", 5: "5xx"}


class OpenPages:
    """How many WebSockets are open: each is a page that somebody looks at. One thread changes it, any may read."""

    number = 0


class MetricsMiddleware:
    """Looks at requests as they pass."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes everything on."""
        if scope["type"] == "http":
            await self.app(scope, receive, _count_responses(send))
        elif scope["type"] == "websocket":
            await self._session(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _session(self, scope: Scope, receive: Receive, send: Send) -> None:
        accepted = False

        async def watched(message: Message) -> None:
            nonlocal accepted
            if message["type"] == "websocket.accept":  # one that is refused never was a page
                accepted, OpenPages.number = True, OpenPages.number + 1
            await send(message)

        try:
            await self.app(scope, receive, watched)
        finally:
            OpenPages.number -= accepted


def _count_responses(send: Send) -> Send:
    async def counted(message: Message) -> None:
        if message["type"] == "http.response.start":
            counters.HTTP.add(_STATUS_CLASSES.get(message["status"] // 100, "1xx"))
        await send(message)

    return counted
