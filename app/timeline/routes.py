"""The door through which a browser gets a timeline: tiles, names, events, areas, searches (docs/timeline.md).

Whoever may look at pages may ask: ``web.login`` lets viewers send GET to every address that is not closed.
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

from app.timeline import timeline_answers
from app.web import url_paths, visitors
from app.web.fair_pool import FairPool
from profiledb import config
from profiledb.errors import BusyError, DamagedError, ReportNotFoundError, WarpdeckError
from profiledb.rules import classes
from profiledb.timeline.open_timeline import Opened
from profiledb.timeline.store import BuildingError, Timelines

PREFIX = "/_warpdeck/timeline"
MAX_QUERY_CHARS = 8_192
"""Characters of the part of an address behind the question mark."""

_REPORT_ID = re.compile(r"[0-9a-f]{16}")
_log = logging.getLogger("warpdeck")
Answer = Callable[[duckdb.DuckDBPyConnection, Opened, timeline_answers.QueryParameters], bytes]


@cache
def get_timelines() -> Timelines:
    """The timelines of this server's library."""
    settings = config.load()
    return Timelines(visitors.get_whole_library(), classes.load(settings.classes), settings.memory_limit)


@cache
def _get_pool() -> FairPool:
    return FairPool(at_once=4, each=3, waiting=253, again_s=1)


def build_routes() -> list[Route]:
    """The addresses, below that of the dashboard."""
    prefix = url_paths.add_base(PREFIX)
    return [
        Route(f"{prefix}/{{report_id}}/{name}", _make_endpoint(name, answer), methods=["GET"])
        for name, answer in timeline_answers.ANSWERS.items()
    ]


def _make_endpoint(name: str, answer: Answer) -> Callable[[Request], Awaitable[Response]]:
    async def respond(request: Request) -> Response:
        report_id = request.path_params["report_id"]
        if not _REPORT_ID.fullmatch(report_id):
            return _refuse(404, "There is no such report.")
        if len(request.url.query) > MAX_QUERY_CHARS:
            return _refuse(414, "The address is too long.")
        try:
            asked = timeline_answers.QueryParameters(
                request.query_params.multi_items(), visitors.get_library(request.scope)
            )
            return await _answer_query(request, report_id, name, answer, asked)
        except BuildingError:
            return JSONResponse({"building": True}, status_code=202, headers={"Cache-Control": "no-store"})
        except (WarpdeckError, duckdb.Error) as error:
            return _answer_error(report_id, error)

    return respond


def _answer_error(report_id: str, error: Exception) -> Response:
    """What is answered where a question has no answer."""
    if isinstance(error, ReportNotFoundError):
        return _refuse(404, "There is no such report.")
    if isinstance(error, DamagedError):
        return _refuse(500, str(error))
    if isinstance(error, BusyError):
        return _refuse(429, str(error), {"Retry-After": str(error.again_s)})
    if isinstance(error, WarpdeckError):
        return _refuse(400, str(error))
    if isinstance(error, duckdb.InterruptException):
        return _refuse(499, "Nobody waits for this any more.")
    _log.error("The timeline of %s could not be read", report_id, exc_info=error)
    return _refuse(500, "The timeline of this report cannot be read. The server's log says more.")


async def _answer_query(
    request: Request, report_id: str, name: str, answer: Answer, asked: timeline_answers.QueryParameters
) -> Response:
    """Runs a query in a thread; whoever leaves takes the query along."""
    work = _Query(report_id, name, answer, asked)
    person = visitors.get_visitor(request.scope)
    tag = await _get_pool().run(person, work.tag)
    if tag and tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers={"ETag": tag, **_CACHE_ONE_DAY})
    gone = asyncio.create_task(_wait_for_disconnect(request))
    query = asyncio.create_task(_get_pool().run(person, work.run))
    try:
        await asyncio.wait({gone, query}, return_when=asyncio.FIRST_COMPLETED)
        if not query.done():
            work.stop()
        body = await query
    finally:
        gone.cancel()
    if tag:
        return Response(body, media_type="application/octet-stream", headers={"ETag": tag, **_CACHE_ONE_DAY})
    if name in timeline_answers.DOWNLOAD_NAMES:
        saved = {
            "Content-Disposition": f'attachment; filename="{timeline_answers.DOWNLOAD_NAMES[name]}"',
            "Cache-Control": "no-store",
        }
        return Response(body, media_type="application/octet-stream", headers=saved)
    return Response(body, media_type="application/json", headers={"Cache-Control": "private, no-cache"})


_CACHE_ONE_DAY = {"Cache-Control": "private, max-age=86400, immutable"}


class _Query:
    """One question, answered in a thread, which another one may stop."""

    def __init__(self, report_id: str, name: str, answer: Answer, asked: timeline_answers.QueryParameters) -> None:
        self._report_id = report_id
        self._name = name
        self._answer = answer
        self._asked = asked
        self._cursor: duckdb.DuckDBPyConnection | None = None
        self._stopped = False

    def tag(self) -> str:
        """What changes with the answer; empty where it is not kept. Raises ReportNotFoundError as ``run``."""
        self._look()
        opened = get_timelines().open(self._report_id)
        return f'"{opened.version}"' if self._name in timeline_answers.CACHEABLE else ""

    def run(self) -> bytes:
        """The answer; raises ReportNotFoundError where whoever asks does not see the report."""
        self._look()
        shelf = get_timelines()
        opened = shelf.open(self._report_id)
        if self._stopped:
            raise duckdb.InterruptException
        with shelf.cursor(self._report_id) as cursor:
            self._cursor = cursor
            try:
                return self._answer(cursor, opened, self._asked)
            finally:
                self._cursor = None

    def _look(self) -> None:
        self._asked.library.catalog.sight.require(self._report_id)

    def stop(self) -> None:
        """Ends the query, wherever it is."""
        self._stopped = True
        if cursor := self._cursor:
            cursor.interrupt()


async def _wait_for_disconnect(request: Request) -> None:
    """Returns when whoever asked has gone."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _refuse(status: int, sentence: str, headers: Mapping[str, str] | None = None) -> Response:
    told = {"Cache-Control": "no-store"} | dict(headers or {})
    return JSONResponse({"error": sentence}, status_code=status, headers=told)
