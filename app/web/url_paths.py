"""Paths below the address of the dashboard, which ``server.baseUrlPath`` may move below a prefix."""

import streamlit as st
from starlette.types import Scope

HEALTH_PATH = "/health"
"""Tells whether pages can be shown (app/monitoring.py)."""
LIVE_PATH = f"{HEALTH_PATH}/live"
"""Tells whether the server answers at all."""
MCP_PATH = "/mcp"
"""The MCP server (app/api/mcp_server.py)."""


def strip_base(scope: Scope) -> str:
    """Return the path of a request without the base path, such as ``/media/x``; ``/`` for the dashboard itself."""
    path: str = scope["path"]
    base = _get_base()
    if base and (path == base or path.startswith(f"{base}/")):
        path = path[len(base) :]
    return path or "/"


def add_base(path: str) -> str:
    """Return the path at which the server answers ``path``, such as ``/media/x``."""
    return f"{_get_base()}{path}"


def _get_base() -> str:
    """Return ``server.baseUrlPath`` with a leading slash; empty if it is not set."""
    base = str(st.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{base}" if base else ""
