"""The dashboard's server: ``streamlit run app/main.py``. It starts the ingest worker, and serves ``dashboard.py``."""

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

from app import worker  # noqa: E402 (the path comes first)


@asynccontextmanager
async def lifespan(_: st.App) -> AsyncIterator[dict[str, Any]]:
    """Looks after the worker as long as the server runs, so that files are read before anybody opens a page."""
    task = asyncio.create_task(worker.keep())
    try:
        yield {}
    finally:
        task.cancel()


app = st.App(Path(__file__).with_name("dashboard.py"), lifespan=lifespan)
