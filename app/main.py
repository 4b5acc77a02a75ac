"""The dashboard's server: ``streamlit run app/main.py``. It serves ``dashboard.py``, the API and the ingest worker."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import streamlit as st

# Streamlit puts the folder of this file on the path; the packages are one folder up.
ROOT = str(Path(__file__).resolve().parent.parent)
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)

from app import memory, monitoring, warm_up, web, worker_process
from app.api import routes as api_routes
from app.api.mcp_server import McpServer
from app.frame import search_route
from app.timeline import assets
from app.timeline import routes as timeline_routes
from app.ui import page_elements
from app.web import security_headers_middleware, sharing_route, startup
from app.web.server_announcement import ServerAnnouncement
from app.web.upload_store import get_upload_store
from profiledb import terminal
from profiledb.errors import ConfigError, RefusedError
from profiledb.monitoring import allocator
from profiledb.shutdown_deadline import set_shutdown_deadline


@asynccontextmanager
async def lifespan(_: st.App) -> AsyncIterator[dict[str, Any]]:
    """Run background tasks with the server, so that it ingests files before anybody opens a page."""
    set_shutdown_deadline()
    get_upload_store().remove_abandoned()
    if not worker_process.explain_refusal():
        announcement.publish()
    monitoring.start_monitoring()
    loops = (worker_process.keep_worker_running, announcement.keep_published, memory.keep_trimmed)
    tasks = [asyncio.create_task(loop()) for loop in loops]
    tasks.append(asyncio.create_task(asyncio.to_thread(warm_up.warm_up)))
    try:
        async with mcp_server.run():
            yield {}
    finally:
        for task in tasks:
            task.cancel()
        monitoring.stop_monitoring()
        announcement.withdraw()
        get_upload_store().close()


allocator.limit_arenas()
try:
    startup.prepare_server()
    monitoring.check_settings()
except (ConfigError, RefusedError) as error:
    sys.exit(f"Warpdeck does not start: {terminal.describe_error(error)}")

announcement = ServerAnnouncement()
mcp_server = McpServer()
app = st.App(
    Path(__file__).with_name("dashboard.py"),
    lifespan=lifespan,
    routes=[
        announcement.make_route(),
        sharing_route.make_route(),
        search_route.make_route(),
        assets.make_route(),
        *timeline_routes.build_routes(),
        *api_routes.build_routes(),
        mcp_server.make_route(),
        *monitoring.build_routes(),
    ],
    middleware=web.build_middleware(),
    exception_handlers={Exception: security_headers_middleware.answer_server_error},
    on_script_error=page_elements.draw_escaped,
)
