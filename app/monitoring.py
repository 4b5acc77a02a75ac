"""Answer the operators of this server: ``/health`` for load balancers, and metrics for Prometheus.

``/health`` needs no login: it tells whether pages can be shown, and the state of the database, the store and the
worker. Metrics are served on an address of their own if ``WARPDECK_METRICS`` names one.
"""

import asyncio
import logging
from datetime import UTC, datetime

import streamlit as st
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from app import memory, script_queue, worker_process
from app.web import url_paths, visitors
from app.web.metrics_middleware import OpenPages
from profiledb import config
from profiledb.errors import ConfigError
from profiledb.library import disk, health
from profiledb.monitoring import logs, prometheus
from profiledb.monitoring.counters import OTHER, STATES
from profiledb.monitoring.prometheus import Figures, Gauge, Listener

CHECK_TIMEOUT_S = 5.0
"""Seconds after which a database or store that does not answer counts as missing."""
_WORKER_RUNNING = ("here", "elsewhere")

_log = logging.getLogger("warpdeck")
_health = health.Health(visitors.get_whole_library)
_listeners: list[Listener] = []


def check_parts() -> tuple[bool, dict[str, str]]:
    """Return whether pages can be shown, and the state of each part. Pages need no worker and no Landlock.

    Only the server that runs the worker itself needs the inbox.
    """
    states, worker_state = _health.parts(), worker_process.check_worker().state
    if worker_state == "here":
        states |= health.check_inbox(config.load())
    return health.can_show_pages(states), states | {"worker": worker_state} | health.check_confinement()


async def _answer_health(_: Request) -> Response:
    """Answer 200 if pages can be shown, else 503, so that a proxy asks another server."""
    try:
        async with asyncio.timeout(CHECK_TIMEOUT_S):
            healthy, states = await asyncio.to_thread(check_parts)
    except TimeoutError:
        healthy, states = False, {"database": health.MISSING, "store": health.MISSING}
    status = 200 if healthy else 503
    return Response(
        prometheus.encode_health(healthy, states), status, {"Cache-Control": "no-store"}, "application/json"
    )


async def _answer_live(_: Request) -> Response:
    """Answer 200 as long as this process answers at all."""
    return JSONResponse({"status": "live"}, headers={"Cache-Control": "no-store"})


def build_routes() -> list[Route]:
    """Return the routes of both health checks."""
    return [
        Route(url_paths.add_base(url_paths.HEALTH_PATH), _answer_health),
        Route(url_paths.add_base(url_paths.LIVE_PATH), _answer_live),
    ]


def start_monitoring() -> None:
    """Serve metrics if the settings name an address, and log that the server runs.

    The server runs without metrics if their port is taken; the log says so.
    """
    address = prometheus.parse_address(config.load().metrics, "WARPDECK_METRICS")
    if address is not None:
        listener = Listener(address, Figures(_build_gauges()), check_parts)
        try:
            listener.start()
        except ConfigError as error:
            _log.error("%s %s", error.message, error.hint)
        else:
            _listeners.append(listener)
    logs.log_event("server_started", port=st.get_option("server.port"))


def stop_monitoring() -> None:
    """Stop serving metrics, and log that the server ends."""
    while _listeners:
        _listeners.pop().stop()
    logs.log_event("server_ended")


def check_settings() -> None:
    """Check before the server starts that it can serve metrics as configured.

    Raises:
        ConfigError: the address is invalid, or the package ``prometheus-client`` is missing.
    """
    if prometheus.parse_address(config.load().metrics, "WARPDECK_METRICS") is not None:
        Figures()


def _build_gauges() -> list[Gauge]:
    return [
        Gauge("warpdeck_part_up", "1 if this part of the server can be reached, else 0.", "part", _measure_parts),
        Gauge("warpdeck_files", "Files by their state, as the Library page has them.", "state", _count_files),
        Gauge(
            "warpdeck_queue_age_seconds", "Seconds that the file at the head of the queue has waited.", "",
            _measure_queue_age,
        ),
        Gauge("warpdeck_disk_free_bytes", "Free bytes of the disk with the library or its copies.", "", _measure_disk),
        Gauge("warpdeck_reports", "Reports of the library.", "", _count_reports),
        Gauge("warpdeck_sessions", "Pages that are open in browsers.", "", _count_open_pages),
        Gauge("warpdeck_turns_waiting", "Pages that wait for their turn.", "", _count_waiting_scripts),
        Gauge(
            "warpdeck_memory_bytes", "Memory of this server by holder (app/memory.py).", "holder",
            memory.measure_holders,
        ),
    ]  # fmt: skip


def _measure_parts() -> dict[str, float]:
    _, states = check_parts()
    return {part: float(state == health.OK or state in _WORKER_RUNNING) for part, state in states.items()}


def _count_files() -> dict[str, float]:
    counts = visitors.get_whole_library().catalog.job_states()
    known = {state: float(counts.pop(state, 0)) for state in STATES}
    return known | {OTHER: float(sum(counts.values()))}


def _measure_queue_age() -> dict[str, float]:
    since = visitors.get_whole_library().catalog.waiting_since()
    return {"": (datetime.now(UTC) - since).total_seconds() if since else 0.0}


def _measure_disk() -> dict[str, float]:
    return {"": float(disk.measure_free(visitors.get_whole_library().folder))}


def _count_reports() -> dict[str, float]:
    return {"": float(visitors.get_whole_library().catalog.listing.count())}


def _count_open_pages() -> dict[str, float]:
    return {"": float(OpenPages.number)}


def _count_waiting_scripts() -> dict[str, float]:
    return {"": float(script_queue.page_scripts.waiting)}
