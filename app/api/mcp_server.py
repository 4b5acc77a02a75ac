"""The MCP server over HTTP, at /mcp: the same tools as ``warpdeck mcp`` on standard input and output."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any

from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from app.api import thread_pools
from app.web import url_paths, visitors
from app.web.problem_json import problem
from profiledb.access.operations import mcp_tools
from profiledb.library.library import Library

PATH = "/mcp"
_asked: ContextVar[Library] = ContextVar("asked")
"""The library as whoever sent a request sees it; the tasks that answer have it from the one that began them."""


class Assistant:
    """Answers at the address; where the package is missing it says so."""

    def __init__(self) -> None:
        self._manager: Any = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Answers while the server runs."""
        if not mcp_tools.is_available():
            yield
            return
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        # Each request stands for itself: whoever asks is looked at each time (web.login), and nothing stays behind.
        answering = mcp_tools.server(_asked.get, run=_in_pool)
        self._manager = StreamableHTTPSessionManager(answering, json_response=True, stateless=True)
        async with self._manager.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on; hosts and origins were looked at before (web.hosts)."""
        if self._manager is None:
            refusal = problem(404, "This server has no MCP server.", "pip install 'warpdeck[mcp]'")
            await refusal(scope, receive, send)
            return
        asked = _asked.set(visitors.library(scope))
        try:
            await self._manager.handle_request(scope, receive, send)
        finally:
            _asked.reset(asked)

    def route(self) -> Route:
        """The address, below that of the dashboard."""
        return Route(url_paths.at(PATH), self)


async def _in_pool(tool: str, work: Callable[[], str]) -> str:
    return await thread_pools.of(tool).run(_asked.get().catalog.visitor, work)
