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

from app.timeline import answers
from app.web import url_paths, visitors
from app.web.fair_pool import Pool
from profiledb import config
from profiledb.errors import BusyError, DamagedError, ReportNotFoundError, WarpdeckError
from profiledb.rules import classes
from profiledb.timeline.open_timeline import Opened
from profiledb.timeline.store import BuildingError, Timelines

PREFIX = "/_warpdeck/timeline"
LONGEST_QUERY = 8_192
"""Characters of the part of an address behind the question mark."""

_REPORT = re.compile(r"[0-9a-f]{16}")
_log = logging.getLogger("warpdeck")
Answer = Callable[[duckdb.DuckDBPyConnection, Opened, answers.Asked], bytes]


@cache
def timelines() -> Timelines:
    """The timelines of this server's library."""
    settings = config.load()
    return Timelines(visitors.whole(), classes.load(settings.classes), settings.memory_limit)


@cache
def _pool() -> Pool:
    return Pool(at_once=4, each=3, waiting=253, again_s=1)


def routes() -> list[Route]:
    """The addresses, below that of the dashboard."""
    prefix = url_paths.at(PREFIX)
    return [
        Route(f"{prefix}/{{report_id}}/{name}", _door(name, answer), methods=["GET"])
        for name, answer in answers.ANSWERS.items()
    ]


def _door(name: str, answer: Answer) -> Callable[[Request], Awaitable[Response]]:
    async def respond(request: Request) -> Response:
        report_id = request.path_params["report_id"]
        if not _REPORT.fullmatch(report_id):
            return _refusal(404, "There is no such report.")
        if len(request.url.query) > LONGEST_QUERY:
            return _refusal(414, "The address is too long.")
        try:
            asked = answers.Asked(request.query_params.multi_items(), visitors.library(request.scope))
            return await _answered(request, report_id, name, answer, asked)
        except BuildingError:
            return JSONResponse({"building": True}, status_code=202, headers={"Cache-Control": "no-store"})
        except (WarpdeckError, duckdb.Error) as error:
            return _failed(report_id, error)

    return respond


def _failed(report_id: str, error: Exception) -> Response:
    """What is answered where a question has no answer."""
    if isinstance(error, ReportNotFoundError):
        return _refusal(404, "There is no such report.")
    if isinstance(error, DamagedError):
        return _refusal(500, str(error))
    if isinstance(error, BusyError):
        return _refusal(429, str(error), {"Retry-After": str(error.again_s)})
    if isinstance(error, WarpdeckError):
        return _refusal(400, str(error))
    if isinstance(error, duckdb.InterruptException):
        return _refusal(499, "Nobody waits for this any more.")
    _log.error("The timeline of %s could not be read", report_id, exc_info=error)
    return _refusal(500, "The timeline of this report cannot be read. The server's log says more.")


async def _answered(request: Request, report_id: str, name: str, answer: Answer, asked: answers.Asked) -> Response:
    """Runs a query in a thread; whoever leaves takes the query along."""
    work = _Work(report_id, name, answer, asked)
    person = visitors.of(request.scope)
    tag = await _pool().run(person, work.tag)
    if tag and tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers={"ETag": tag, **_KEEP})
    gone = asyncio.create_task(_left(request))
    query = asyncio.create_task(_pool().run(person, work.run))
    try:
        await asyncio.wait({gone, query}, return_when=asyncio.FIRST_COMPLETED)
        if not query.done():
            work.stop()
        body = await query
    finally:
        gone.cancel()
    if tag:
        return Response(body, media_type="application/octet-stream", headers={"ETag": tag, **_KEEP})
    if name in answers.FILES:
        saved = {"Content-Disposition": f'attachment; filename="{answers.FILES[name]}"', "Cache-Control": "no-store"}
        return Response(body, media_type="application/octet-stream", headers=saved)
    return Response(body, media_type="application/json", headers={"Cache-Control": "private, no-cache"})


_KEEP = {"Cache-Control": "private, max-age=86400, immutable"}


class _Work:
    """One question, answered in a thread, which another one may stop."""

    def __init__(self, report_id: str, name: str, answer: Answer, asked: answers.Asked) -> None:
        self._report_id = report_id
        self._name = name
        self._answer = answer
        self._asked = asked
        self._cursor: duckdb.DuckDBPyConnection | None = None
        self._stopped = False

    def tag(self) -> str:
        """What changes with the answer; empty where it is not kept. Raises ReportNotFoundError as ``run``."""
        self._look()
        opened = timelines().open(self._report_id)
        return f'"{opened.version}"' if self._name in answers.KEPT else ""

    def run(self) -> bytes:
        """The answer; raises ReportNotFoundError where whoever asks does not see the report."""
        self._look()
        shelf = timelines()
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
        self._asked.library.catalog.visibility.require_reports(self._report_id)

    def stop(self) -> None:
        """Ends the query, wherever it is."""
        self._stopped = True
        if cursor := self._cursor:
            cursor.interrupt()


async def _left(request: Request) -> None:
    """Returns when whoever asked has gone."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _refusal(status: int, sentence: str, headers: Mapping[str, str] | None = None) -> Response:
    told = {"Cache-Control": "no-store"} | dict(headers or {})
    return JSONResponse({"error": sentence}, status_code=status, headers=told)
