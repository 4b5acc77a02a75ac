"""Paths below the address of the dashboard."""

import streamlit as st
from starlette.types import Scope

HEALTH_PATH = "/health"
"""Whether pages can be shown (app/monitoring.py); below it ``LIVE``, whether the server answers at all."""
LIVE_PATH = f"{HEALTH_PATH}/live"


def strip_base(scope: Scope) -> str:
    """The path of a request without ``server.baseUrlPath``, as ``/media/x``; ``/`` for the dashboard itself."""
    path: str = scope["path"]
    prefix = _get_base()
    if prefix and (path == prefix or path.startswith(f"{prefix}/")):
        path = path[len(prefix) :]
    return path or "/"


def add_base(path: str) -> str:
    """The path that a server answers for one below the dashboard, as ``/media/x``."""
    return f"{_get_base()}{path}"


def _get_base() -> str:
    """``server.baseUrlPath`` with a slash in front; nothing where there is none."""
    base = str(st.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{base}" if base else ""
