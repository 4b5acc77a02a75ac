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
from app.api.mcp_server import McpServer
from app.timeline import assets, routes
from app.ui import page_elements
from app.web import security_headers_middleware, server_announcement, sharing_route, startup
from app.web.upload_store import get_upload_store
from profiledb import terminal
from profiledb.errors import ConfigError, RefusedError


@asynccontextmanager
async def lifespan(_: st.App) -> AsyncIterator[dict[str, Any]]:
    """Looks after the worker as long as the server runs, so that files are read before anybody opens a page."""
    get_upload_store().start()
    if not worker_process.explain_refusal():
        announced.begin()
    monitoring.start_monitoring()
    tasks = [
        asyncio.create_task(keep())
        for keep in (worker_process.keep_worker_running, announced.keep, memory.keep_trimmed)
    ]
    try:
        async with assistant.running():
            yield {}
    finally:
        for task in tasks:
            task.cancel()
        monitoring.stop_monitoring()
        announced.end()
        get_upload_store().end()


memory.limit_arenas()
try:
    startup.prepare_server()
    monitoring.check_settings()
except (ConfigError, RefusedError) as error:
    sys.exit(f"Warpdeck does not start: {terminal.sentence(error)}")

announced = server_announcement.ServerAnnouncement()
assistant = McpServer()
app = st.App(
    Path(__file__).with_name("dashboard.py"),
    lifespan=lifespan,
    routes=[
        announced.route(),
        sharing_route.make_route(),
        assets.make_route(),
        *routes.build_routes(),
        *api.build_routes(),
        assistant.route(),
        *monitoring.build_routes(),
    ],
    middleware=web.build_middleware(),
    exception_handlers={Exception: security_headers_middleware.answer_server_error},
    on_script_error=page_elements.escaped,
)
