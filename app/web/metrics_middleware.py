"""Count open pages, and responses by the class of their status."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from profiledb.monitoring import counters

_STATUS_CLASSES = {2: "2xx", 3: "3xx", 4: "4xx", 5: "5xx"}


class OpenPages:
    """The number of open WebSockets, one for each open page. Only the event loop changes it; any thread may read."""

    number = 0


class MetricsMiddleware:
    """Count connections as they pass."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] == "http":
            await self.app(scope, receive, _count_responses(send))
        elif scope["type"] == "websocket":
            await self._count_page(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _count_page(self, scope: Scope, receive: Receive, send: Send) -> None:
        accepted = False

        async def send_counted(message: Message) -> None:
            nonlocal accepted
            if message["type"] == "websocket.accept":  # a refused WebSocket never was a page
                accepted, OpenPages.number = True, OpenPages.number + 1
            await send(message)

        try:
            await self.app(scope, receive, send_counted)
        finally:
            OpenPages.number -= accepted


def _count_responses(send: Send) -> Send:
    async def send_counted(message: Message) -> None:
        if message["type"] == "http.response.start":
            counters.HTTP.add(_STATUS_CLASSES.get(message["status"] // 100, "1xx"))
        await send(message)

    return send_counted
