"""Tells ``warpdeck open`` which server serves this library: see profiledb.library.server_file."""

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

LOOK_S = 5.0
"""Time between two looks whether the file is there: another server of the library removes its own when it ends."""


class Announced:
    """The announcement of this server, from its start to its end."""

    def __init__(self) -> None:
        self._serving: Serving | None = None
        self._library = Path()

    def begin(self) -> None:
        """Announces the server; the port is known by now, and connections are taken."""
        if st.get_option("server.sslCertFile"):
            return  # `warpdeck open` speaks no TLS; a server with it stands behind a name of its own anyway
        settings = config.load()
        base = str(st.get_option("server.baseUrlPath") or "")
        self._library = settings.library
        self._serving = server_file.describe_server(int(st.get_option("server.port")), base, settings.inbox_text)
        server_file.announce(self._library, self._serving)

    async def keep(self) -> None:
        """Announces the server again whenever nobody is announced."""
        while self._serving:
            await asyncio.sleep(LOOK_S)
            if await asyncio.to_thread(server_file.read_announcement, self._library) is None:
                await asyncio.to_thread(server_file.announce, self._library, self._serving)

    def end(self) -> None:
        """Takes the announcement back."""
        if self._serving:
            server_file.withdraw(self._library, self._serving)

    async def answer(self, request: Request) -> Response:
        """Proves to whoever read the file that this is the server that wrote it; tells nobody anything else."""
        number = request.url.query
        if self._serving is None or not server_file.NUMBER.fullmatch(number):
            return PlainTextResponse("Not found", status_code=404)
        return PlainTextResponse(self._serving.answer(number), headers={"Cache-Control": "no-store"})

    def route(self) -> Route:
        """The address at which it answers."""
        return Route(url_paths.at(server_file.PATH), self.answer)
