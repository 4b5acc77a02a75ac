"""Announce to ``warpdeck open`` which server serves this library (profiledb.library.server_file)."""

import asyncio
from pathlib import Path

import streamlit as st
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from app.web import url_paths
from profiledb import config
from profiledb.library import server_file
from profiledb.library.server_file import Serving

CHECK_INTERVAL_S = 5.0
"""Seconds between two checks that the file exists: another server of the library removes its own when it ends."""


class ServerAnnouncement:
    """The announcement of this server, from its start to its end."""

    def __init__(self) -> None:
        self._serving: Serving | None = None
        self._library = Path()

    def publish(self) -> None:
        """Announce the server; call it once the port is known and accepts connections."""
        if st.get_option("server.sslCertFile"):
            return  # `warpdeck open` speaks no TLS, and a server with TLS has an address that people know
        settings = config.load()
        base = str(st.get_option("server.baseUrlPath") or "")
        self._library = settings.library
        self._serving = server_file.describe_server(int(st.get_option("server.port")), base, settings.inbox_text)
        server_file.announce(self._library, self._serving)

    async def keep_published(self) -> None:
        """Announce the server again whenever no server is announced."""
        while self._serving:
            await asyncio.sleep(CHECK_INTERVAL_S)
            if await asyncio.to_thread(server_file.read_announcement, self._library) is None:
                await asyncio.to_thread(server_file.announce, self._library, self._serving)

    def withdraw(self) -> None:
        """Remove the announcement."""
        if self._serving:
            server_file.withdraw(self._library, self._serving)

    async def answer_challenge(self, request: Request) -> Response:
        """Prove to a reader of the file that this server wrote it; reveal nothing to anybody else."""
        challenge = request.url.query
        if self._serving is None or not server_file.NUMBER.fullmatch(challenge):
            return PlainTextResponse("Not found", status_code=404)
        return PlainTextResponse(self._serving.answer(challenge), headers={"Cache-Control": "no-store"})

    def make_route(self) -> Route:
        """Return the route of the challenge."""
        return Route(url_paths.add_base(server_file.PATH), self.answer_challenge)
