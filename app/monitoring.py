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
from app.web.metrics_middleware import Open
from profiledb import config
from profiledb.errors import ConfigError
from profiledb.library import health
from profiledb.monitoring import logs, prometheus
from profiledb.monitoring.counters import OTHER, STATES
from profiledb.monitoring.prometheus import Figures, Gauge, Listener

PATIENCE_S = 5.0
"""After so long a database or a store that does not answer counts as missing."""
_AT_WORK = ("here", "elsewhere")

_log = logging.getLogger("warpdeck")
_health = health.Health(visitors.whole)
_listener: list[Listener] = []


def parts() -> tuple[bool, dict[str, str]]:
    """Whether pages can be shown, and a word about each part; without a worker or Landlock they can.

    A server whose worker runs elsewhere, or not at all, may do without the inbox.
    """
    found, at_work = _health.parts(), worker_process.status().state
    if at_work == "here":
        found |= health.check_inbox(config.load())
    return health.can_show_pages(found), found | {"worker": at_work} | health.check_confinement()


async def _ready(_: Request) -> Response:
    """200 where pages can be shown, else 503, so that a proxy asks another server."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            well, found = await asyncio.to_thread(parts)
    except TimeoutError:
        well, found = False, {"database": health.MISSING, "store": health.MISSING}
    return Response(
        prometheus.encode_health(well, found), 200 if well else 503, {"Cache-Control": "no-store"}, "application/json"
    )


async def _live(_: Request) -> Response:
    """200 as long as this process answers at all."""
    return JSONResponse({"status": "live"}, headers={"Cache-Control": "no-store"})


def routes() -> list[Route]:
    """The addresses, below that of the dashboard."""
    return [Route(url_paths.at(url_paths.HEALTH), _ready), Route(url_paths.at(url_paths.LIVE), _live)]


def begin() -> None:
    """Tells figures from now on, where the settings name an address, and logs that the server runs.

    A port that is taken keeps nobody from looking at pages: the log says so.
    """
    where = prometheus.parse_address(config.load().metrics, "WARPDECK_METRICS")
    if where is not None:
        listener = Listener(where, Figures(_gauges()), parts)
        try:
            listener.start()
        except ConfigError as error:
            _log.error("%s %s", error.message, error.hint)
        else:
            _listener.append(listener)
    logs.event("server_started", port=st.get_option("server.port"))


def end() -> None:
    """Ends that."""
    while _listener:
        _listener.pop().stop()
    logs.event("server_ended")


def check() -> None:
    """Looks whether figures can be told as the settings want it, before anything starts.

    Raises:
        ConfigError: the address is none, or the package is missing.
    """
    if prometheus.parse_address(config.load().metrics, "WARPDECK_METRICS") is not None:
        Figures()


def _gauges() -> list[Gauge]:
    return [
        Gauge("warpdeck_part_up", "Whether what the server needs can be reached.", "part", _up),
        Gauge("warpdeck_files", "Files by their state, as the Library page has them.", "state", _files),
        Gauge("warpdeck_reports", "Reports of the library.", "", _reports),
        Gauge("warpdeck_sessions", "Pages that are open in browsers.", "", lambda: {"": Open.number}),
        Gauge(
            "warpdeck_turns_waiting", "Pages that wait for their turn.", "", lambda: {"": script_queue.of_pages.waiting}
        ),
        Gauge("warpdeck_memory_bytes", "Memory of this server by holder (app/memory.py).", "holder", memory.holders),
    ]


def _reports() -> dict[str, float]:
    return {"": float(len(visitors.whole().catalog.report_ids()))}


def _up() -> dict[str, float]:
    _, found = parts()
    return {part: float(word == health.OK or word in _AT_WORK) for part, word in found.items()}


def _files() -> dict[str, float]:
    found = visitors.whole().catalog.job_states()
    known = {state: float(found.pop(state, 0)) for state in STATES}
    return known | {OTHER: float(sum(found.values()))}
