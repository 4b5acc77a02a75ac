"""The dashboard's server: ``streamlit run app/main.py``. It starts the ingest worker, and serves ``dashboard.py``
behind the middleware of ``web``."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import streamlit as st

# Streamlit puts this file's folder on the path; the packages stand beside it.
ROOT = str(Path(__file__).resolve().parent.parent)
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)

from app import memory, monitoring, web, worker_process
from app.api import routes as api
from app.api.mcp_server import Assistant
from app.timeline import assets, routes
from app.ui import page_elements
from app.web import headers_middleware, server_announcement, sharing_middleware, startup
from app.web.upload_store import store
from profiledb import terminal
from profiledb.errors import ConfigError, RefusedError


@asynccontextmanager
async def lifespan(_: st.App) -> AsyncIterator[dict[str, Any]]:
    """Looks after the worker as long as the server runs, so that files are read before anybody opens a page."""
    store().start()
    if not worker_process.refusal():
        announced.begin()
    monitoring.begin()
    tasks = [asyncio.create_task(keep()) for keep in (worker_process.keep, announced.keep, memory.keep_trimmed)]
    try:
        async with assistant.running():
            yield {}
    finally:
        for task in tasks:
            task.cancel()
        monitoring.end()
        announced.end()
        store().end()


memory.limit_arenas()
try:
    startup.prepare()
    monitoring.check()
except (ConfigError, RefusedError) as error:
    sys.exit(f"Warpdeck does not start: {terminal.sentence(error)}")

announced = server_announcement.Announced()
assistant = Assistant()
app = st.App(
    Path(__file__).with_name("dashboard.py"),
    lifespan=lifespan,
    routes=[
        announced.route(),
        sharing_middleware.route(),
        assets.route(),
        *routes.routes(),
        *api.routes(),
        assistant.route(),
        *monitoring.routes(),
    ],
    middleware=web.stack(),
    exception_handlers={Exception: headers_middleware.server_error},
    on_script_error=page_elements.escaped,
)
