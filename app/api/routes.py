"""The HTTP API: an address for each operation of the registry, the description of all, and uploads.

Reading is a GET, which changes nothing, so ``web.login`` lets viewers ask, by cookie or by token. What is asked and
answered is bounded; what goes wrong is a sentence (RFC 9457).
"""

import logging
import re
from collections.abc import Awaitable, Callable
from functools import partial

import duckdb
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from app.api import thread_pools, uploads
from app.web import url_paths, visitors
from app.web.problem_json import answer, problem
from profiledb.access.operations import openapi
from profiledb.access.operations.operation import FORMATS, MOST_BYTES, Operation, Values
from profiledb.access.operations.registry import operations
from profiledb.errors import AnalysisError, WarpdeckError
from profiledb.library.library import Library

LONGEST_QUERY = 32_768
"""Characters of the part of an address behind the question mark."""
MOST_PARAMETERS = 200
_OWN_SITE = ("same-origin", "none")

_log = logging.getLogger("warpdeck")


def routes() -> list[Route]:
    """The addresses, below that of the dashboard."""
    prefix = url_paths.at(openapi.PREFIX)
    return [
        Route(f"{prefix}/openapi.json", _described, methods=["GET"]),
        Route(f"{prefix}/uploads", uploads.upload, methods=["POST"]),
        *(Route(prefix + one.path, _door(one), methods=["GET"]) for one in operations().values()),
        Route(f"{prefix}/{{rest:path}}", _unknown, methods=["GET"]),
    ]


def _door(operation: Operation) -> Callable[[Request], Awaitable[Response]]:
    async def respond(request: Request) -> Response:
        form, values = _asked(request)
        if refused := _refusal(request, operation, form):
            return refused
        try:
            work = partial(_answer, visitors.library(request.scope), operation, values, form)
            body = await thread_pools.of(operation.name).run(visitors.of(request.scope), work)
        except WarpdeckError as error:
            return answer(error)
        except (duckdb.Error, OSError) as error:
            _log.error("%s could not be answered", operation.name, exc_info=error)
            return problem(500, "This cannot be answered. The server's log says more.")
        headers = {"Cache-Control": "private, no-cache"}
        if form != "json":
            headers["Content-Disposition"] = f'attachment; filename="{_file_name(operation, values)}.{form}"'
        return Response(body, media_type=FORMATS[form], headers=headers)

    return respond


def _file_name(operation: Operation, values: Values) -> str:
    """What a browser calls the file: the analysis or the operation, in letters that no system takes for others."""
    return re.sub(r"[^A-Za-z0-9_-]+", "_", str(values.get("analysis", operation.name)))[:100]


def _refusal(request: Request, operation: Operation, form: str) -> Response | None:
    """What is said of a request that is not looked at further."""
    if request.headers.get("sec-fetch-site", "none") not in _OWN_SITE:
        return problem(403, "Pages of other sites cannot ask here.")
    if len(request.url.query) > LONGEST_QUERY or len(request.query_params.multi_items()) > MOST_PARAMETERS:
        return problem(414, "The address is too long.")
    if form not in FORMATS or (form != "json" and not operation.rows):
        return problem(400, f"{operation.name} does not answer in this format.")
    return None


def _asked(request: Request) -> tuple[str, Values]:
    """The format, and the values: one text, or several where a parameter is repeated."""
    values: dict[str, str | tuple[str, ...]] = {}
    for name in request.query_params:
        given = tuple(request.query_params.getlist(name))
        values[name] = given[0] if len(given) == 1 else given
    form = values.pop("format", "json")
    return form if isinstance(form, str) else "", values | request.path_params


def _answer(library: Library, operation: Operation, values: Values, form: str) -> bytes:
    body = operation.run(library, operation.check(values)).written(form)
    if form != "json":
        report = library.find(str(values["report"])).id if "report" in values else ""
        library.catalog.audit.write_or_log("downloaded", report, f"{values.get('analysis', operation.name)}.{form}")
    if len(body) > MOST_BYTES:
        raise AnalysisError("The answer is too large.", hint="Narrow the selection.")
    return body


async def _described(_: Request) -> Response:
    return JSONResponse(openapi.description())


async def _unknown(_: Request) -> Response:
    return problem(404, "There is no such address.", f"{openapi.PREFIX}/openapi.json describes all.")
