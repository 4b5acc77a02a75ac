"""The path of a request below the address of the dashboard."""

import streamlit as st
from starlette.types import Scope


def below(scope: Scope) -> str:
    """The path of a request without ``server.baseUrlPath``, as ``/media/x``; ``/`` for the dashboard itself."""
    path: str = scope["path"]
    base = (st.get_option("server.baseUrlPath") or "").strip("/")
    prefix = f"/{base}"
    if base and (path == prefix or path.startswith(f"{prefix}/")):
        path = path[len(prefix) :]
    return path or "/"
