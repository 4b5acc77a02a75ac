"""Paths below the address of the dashboard."""

import streamlit as st
from starlette.types import Scope

HEALTH = "/health"
"""Whether pages can be shown (app/monitoring.py); below it ``LIVE``, whether the server answers at all."""
LIVE = f"{HEALTH}/live"


def below(scope: Scope) -> str:
    """The path of a request without ``server.baseUrlPath``, as ``/media/x``; ``/`` for the dashboard itself."""
    path: str = scope["path"]
    prefix = _base()
    if prefix and (path == prefix or path.startswith(f"{prefix}/")):
        path = path[len(prefix) :]
    return path or "/"


def at(path: str) -> str:
    """The path that a server answers for one below the dashboard, as ``/media/x``."""
    return f"{_base()}{path}"


def _base() -> str:
    """``server.baseUrlPath`` with a slash in front; nothing where there is none."""
    base = str(st.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{base}" if base else ""
