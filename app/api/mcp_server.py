"""The MCP server at /mcp, with the tools that ``warpdeck mcp`` offers on standard input and output."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any

from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from app.api import thread_pools
from app.web import url_paths, visitors
from app.web.problem_json import make_problem_response
from profiledb.access.operations import mcp_tools
from profiledb.library.library import Library

_library: ContextVar[Library] = ContextVar("library")
"""The library as the sender of a request sees it; tasks that answer a request inherit it."""


class McpServer:
    """ASGI application that answers MCP requests; without the package ``mcp`` it says how to install it."""

    def __init__(self) -> None:
        self._manager: Any = None

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Answer requests while the server runs."""
        if not mcp_tools.is_available():
            yield
            return
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        # Stateless: LoginRequiredMiddleware checks the sender of each request anew, and no session outlives it.
        server = mcp_tools.create_server(_library.get, run=_run_in_pool)
        self._manager = StreamableHTTPSessionManager(server, json_response=True, stateless=True)
        async with self._manager.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; the middleware has checked its host, origin and sender."""
        if self._manager is None:
            refusal = make_problem_response(404, "This server has no MCP server.", "pip install 'warpdeck[mcp]'")
            await refusal(scope, receive, send)
            return
        reset = _library.set(visitors.get_library(scope))
        try:
            await self._manager.handle_request(scope, receive, send)
        finally:
            _library.reset(reset)

    def make_route(self) -> Route:
        """Return the route of the server."""
        return Route(url_paths.add_base(url_paths.MCP_PATH), self)


async def _run_in_pool(tool: str, work: Callable[[], str]) -> str:
    return await thread_pools.get_pool(tool).run(_library.get().catalog.visitor, work)
