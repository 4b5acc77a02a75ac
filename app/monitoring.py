"""What whoever runs this server asks of it: ``/health`` for what stands in front of it, and figures for Prometheus.

``/health`` tells everybody, also who has not logged in: whether pages can be shown, and a word about the database, the
store and the worker. Figures are told on an address of their own, where ``WARPDECK_METRICS`` names one.
"""

import asyncio
import logging

import streamlit as st
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from app import memory, script_queue, worker_process
from app.web import url_paths, visitors
from app.web.metrics_middleware import OpenPages
from profiledb import config
from profiledb.errors import ConfigError
from profiledb.library import health
from profiledb.monitoring import logs, prometheus
from profiledb.monitoring.counters import OTHER, STATES
from profiledb.monitoring.prometheus import Figures, Gauge, Listener

CHECK_TIMEOUT_S = 5.0
"""After so long a database or a store that does not answer counts as missing."""
_WORKER_RUNNING = ("here", "elsewhere")

_log = logging.getLogger("warpdeck")
_health = health.Health(visitors.get_whole_library)
_listener: list[Listener] = []


def check_parts() -> tuple[bool, dict[str, str]]:
    """Whether pages can be shown, and a word about each part; without a worker or Landlock they can.

    A server whose worker runs elsewhere, or not at all, may do without the inbox.
    """
    found, at_work = _health.parts(), worker_process.check_worker().state
    if at_work == "here":
        found |= health.inbox(config.load())
    return health.shows(found), found | {"worker": at_work} | health.confined()


async def _answer_health(_: Request) -> Response:
    """200 where pages can be shown, else 503, so that a proxy asks another server."""
    try:
        async with asyncio.timeout(CHECK_TIMEOUT_S):
            well, found = await asyncio.to_thread(check_parts)
    except TimeoutError:
        well, found = False, {"database": health.MISSING, "store": health.MISSING}
    return Response(
        prometheus.told(well, found), 200 if well else 503, {"Cache-Control": "no-store"}, "application/json"
    )


async def _answer_live(_: Request) -> Response:
    """200 as long as this process answers at all."""
    return JSONResponse({"status": "live"}, headers={"Cache-Control": "no-store"})


def build_routes() -> list[Route]:
    """The addresses, below that of the dashboard."""
    return [
        Route(url_paths.add_base(url_paths.HEALTH_PATH), _answer_health),
        Route(url_paths.add_base(url_paths.LIVE_PATH), _answer_live),
    ]


def start_monitoring() -> None:
    """Tells figures from now on, where the settings name an address, and logs that the server runs.

    A port that is taken keeps nobody from looking at pages: the log says so.
    """
    where = prometheus.address(config.load().metrics, "WARPDECK_METRICS")
    if where is not None:
        listener = Listener(where, Figures(_build_gauges()), check_parts)
        try:
            listener.start()
        except ConfigError as error:
            _log.error("%s %s", error.message, error.hint)
        else:
            _listener.append(listener)
    logs.event("server_started", port=st.get_option("server.port"))


def stop_monitoring() -> None:
    """Ends that."""
    while _listener:
        _listener.pop().stop()
    logs.event("server_ended")


def check_settings() -> None:
    """Looks whether figures can be told as the settings want it, before anything starts.

    Raises:
        ConfigError: the address is none, or the package is missing.
    """
    if prometheus.address(config.load().metrics, "WARPDECK_METRICS") is not None:
        Figures()


def _build_gauges() -> list[Gauge]:
    return [
        Gauge("warpdeck_part_up", "Whether what the server needs can be reached.", "part", _measure_parts),
        Gauge("warpdeck_files", "Files by their state, as the Library page has them.", "state", _count_files),
        Gauge("warpdeck_reports", "Reports of the library.", "", _count_reports),
        Gauge("warpdeck_sessions", "Pages that are open in browsers.", "", lambda: {"": OpenPages.number}),
        Gauge(
            "warpdeck_turns_waiting",
            "Pages that wait for their turn.",
            "",
            lambda: {"": script_queue.page_scripts.waiting},
        ),
        Gauge(
            "warpdeck_memory_bytes",
            "Memory of this server by holder (app/memory.py).",
            "holder",
            memory.measure_holders,
        ),
    ]


def _count_reports() -> dict[str, float]:
    return {"": float(len(visitors.get_whole_library().catalog.report_ids()))}


def _measure_parts() -> dict[str, float]:
    _, found = check_parts()
    return {part: float(word == health.OK or word in _WORKER_RUNNING) for part, word in found.items()}


def _count_files() -> dict[str, float]:
    found = visitors.get_whole_library().catalog.job_states()
    known = {state: float(found.pop(state, 0)) for state in STATES}
    return known | {OTHER: float(sum(found.values()))}
