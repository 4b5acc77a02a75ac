"""The routes that serve a timeline: lanes, tiles, names, events, areas, searches (docs/timeline.md).

``LoginRequiredMiddleware`` lets everybody ask who may look at pages; each request checks that its sender sees the
report.
"""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from functools import cache

import duckdb
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from app.timeline.timeline_answers import ANSWERS, CACHEABLE, DOWNLOAD_NAMES, QueryParameters
from app.web import url_paths, visitors
from app.web.fair_pool import FairPool
from profiledb import config
from profiledb.errors import BusyError, DamagedError, ReportNotFoundError, WarpdeckError
from profiledb.rules import classes
from profiledb.timeline.open_timeline import Opened
from profiledb.timeline.store import BuildingError, Timelines

PREFIX = "/_warpdeck/timeline"
MAX_QUERY_CHARS = 8_192
"""Limit of the query string."""

_REPORT_ID = re.compile(r"[0-9a-f]{16}")
_CACHE_ONE_DAY = {"Cache-Control": "private, max-age=86400, immutable"}
_log = logging.getLogger("warpdeck")
Answer = Callable[[duckdb.DuckDBPyConnection, Opened, QueryParameters], bytes]


@cache
def get_timelines() -> Timelines:
    """Return the timelines of this server's library."""
    settings = config.load()
    return Timelines(visitors.get_whole_library(), classes.load(settings.classes), settings.memory_limit)


@cache
def _get_pool() -> FairPool:
    return FairPool(at_once=4, each=3, waiting=253, again_s=1)


def build_routes() -> list[Route]:
    """Return a route for each kind of answer."""
    prefix = url_paths.add_base(PREFIX)
    return [
        Route(f"{prefix}/{{report_id}}/{name}", _make_endpoint(name, answer), methods=["GET"])
        for name, answer in ANSWERS.items()
    ]


def _make_endpoint(name: str, answer: Answer) -> Callable[[Request], Awaitable[Response]]:
    async def respond(request: Request) -> Response:
        report_id = request.path_params["report_id"]
        if not _REPORT_ID.fullmatch(report_id):
            return _make_refusal(404, "There is no such report.")
        if len(request.url.query) > MAX_QUERY_CHARS:
            return _make_refusal(414, "The address is too long.")
        try:
            library = visitors.get_library(request.scope)
            parameters = QueryParameters(request.query_params.multi_items(), library)
            return await _answer_query(request, _Query(report_id, name, answer, parameters))
        except BuildingError:
            return JSONResponse({"building": True}, status_code=202, headers={"Cache-Control": "no-store"})
        except (WarpdeckError, duckdb.Error) as error:
            return _answer_error(report_id, error)

    return respond


def _answer_error(report_id: str, error: Exception) -> Response:
    """Return the response to a query that failed."""
    if isinstance(error, ReportNotFoundError):
        return _make_refusal(404, "There is no such report.")
    if isinstance(error, DamagedError):
        return _make_refusal(500, str(error))
    if isinstance(error, BusyError):
        return _make_refusal(429, str(error), {"Retry-After": str(error.again_s)})
    if isinstance(error, WarpdeckError):
        return _make_refusal(400, str(error))
    if isinstance(error, duckdb.InterruptException):
        return _make_refusal(499, "The client closed the request.")
    _log.error("The timeline of %s could not be read", report_id, exc_info=error)
    return _make_refusal(500, "The timeline of this report cannot be read. The server's log says more.")


class _Query:
    """A query that one thread answers and another one may stop."""

    def __init__(self, report_id: str, name: str, answer: Answer, parameters: QueryParameters) -> None:
        self.name = name
        self._report_id = report_id
        self._answer = answer
        self._parameters = parameters
        self._cursor: duckdb.DuckDBPyConnection | None = None
        self._stopped = False

    def get_etag(self) -> str:
        """Return the ETag of a cacheable answer; empty for other answers.

        Raises:
            ReportNotFoundError: the sender does not see the report.
        """
        self._require_visible()
        opened = get_timelines().open(self._report_id)
        return f'"{opened.version}"' if self.name in CACHEABLE else ""

    def run(self) -> bytes:
        """Return the answer.

        Raises:
            ReportNotFoundError: the sender does not see the report.
            duckdb.InterruptException: ``stop`` was called.
        """
        self._require_visible()
        timelines = get_timelines()
        opened = timelines.open(self._report_id)
        if self._stopped:
            raise duckdb.InterruptException
        with timelines.cursor(self._report_id) as cursor:
            self._cursor = cursor
            try:
                return self._answer(cursor, opened, self._parameters)
            finally:
                self._cursor = None

    def stop(self) -> None:
        """Stop the query, from another thread."""
        self._stopped = True
        if cursor := self._cursor:
            cursor.interrupt()

    def _require_visible(self) -> None:
        self._parameters.library.catalog.visibility.require_reports(self._report_id)


async def _answer_query(request: Request, query: _Query) -> Response:
    """Run a query in a thread; stop it if the client disconnects."""
    pool, person = _get_pool(), visitors.get_visitor(request.scope)
    etag = await pool.run(person, query.get_etag)
    if etag and etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers={"ETag": etag, **_CACHE_ONE_DAY})
    disconnect = asyncio.create_task(_wait_for_disconnect(request))
    run = asyncio.create_task(pool.run(person, query.run))
    try:
        await asyncio.wait({disconnect, run}, return_when=asyncio.FIRST_COMPLETED)
        if not run.done():
            query.stop()
        body = await run
    finally:
        disconnect.cancel()
    if etag:
        return Response(body, media_type="application/octet-stream", headers={"ETag": etag, **_CACHE_ONE_DAY})
    if file_name := DOWNLOAD_NAMES.get(query.name):
        headers = {"Content-Disposition": f'attachment; filename="{file_name}"', "Cache-Control": "no-store"}
        return Response(body, media_type="application/octet-stream", headers=headers)
    return Response(body, media_type="application/json", headers={"Cache-Control": "private, no-cache"})


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _make_refusal(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    return JSONResponse(
        {"error": message}, status_code=status, headers={"Cache-Control": "no-store"} | dict(headers or {})
    )
