"""The HTTP API: a route for each operation of the registry, its OpenAPI description, uploads, and names of reports.

Operations are GET requests that change nothing, so that ``LoginRequiredMiddleware`` admits viewers, by cookie or by
token. Queries and answers are bounded; errors are problem+json (RFC 9457).
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
from app.web.problem_json import make_error_response, make_problem_response
from profiledb.access.operations import openapi
from profiledb.access.operations.operation import FORMATS, MOST_BYTES, Operation, Values
from profiledb.access.operations.registry import list_operations
from profiledb.errors import AnalysisError, WarpdeckError
from profiledb.library.library import Library

MAX_QUERY_CHARS = 32_768
"""Limit of the query string."""
MAX_PARAMETERS = 200
_SAME_SITE = ("same-origin", "none")

_log = logging.getLogger("warpdeck")


def build_routes() -> list[Route]:
    """Return the routes of the API."""
    prefix = url_paths.add_base(openapi.PREFIX)
    return [
        Route(f"{prefix}/openapi.json", _describe_api, methods=["GET"]),
        Route(f"{prefix}/uploads", uploads.receive_upload, methods=["POST"]),
        Route(f"{prefix}/uploads/{{sha256}}", uploads.find_part, methods=["GET"]),
        Route(f"{prefix}{openapi.TITLE_PATH}", _rename_report, methods=["PUT"]),
        *(Route(prefix + one.path, _make_endpoint(one), methods=["GET"]) for one in list_operations().values()),
        Route(f"{prefix}/{{rest:path}}", _answer_unknown_path, methods=["GET"]),
    ]


def _make_endpoint(operation: Operation) -> Callable[[Request], Awaitable[Response]]:
    async def respond(request: Request) -> Response:
        form, values = _parse_query(request)
        if refusal := _refuse_request(request, operation, form):
            return refusal
        try:
            work = partial(_compute_body, visitors.get_library(request.scope), operation, values, form)
            body = await thread_pools.get_pool(operation.name).run(visitors.get_visitor(request.scope), work)
        except WarpdeckError as error:
            return make_error_response(error)
        except (duckdb.Error, OSError) as error:
            _log.error("%s could not be answered", operation.name, exc_info=error)
            return make_problem_response(500, "This cannot be answered. The server's log says more.")
        headers = {"Cache-Control": "private, no-cache"}
        if form != "json":
            headers["Content-Disposition"] = f'attachment; filename="{_make_file_name(operation, values)}.{form}"'
        return Response(body, media_type=FORMATS[form], headers=headers)

    return respond


def _make_file_name(operation: Operation, values: Values) -> str:
    """Return the name of the analysis or operation in characters that are safe in every file system."""
    return re.sub(r"[^A-Za-z0-9_-]+", "_", str(values.get("analysis", operation.name)))[:100]


def _refuse_request(request: Request, operation: Operation, form: str) -> Response | None:
    """Return the refusal of a request that needs no further look; None if it is acceptable."""
    if request.headers.get("sec-fetch-site", "none") not in _SAME_SITE:
        return make_problem_response(403, "Pages of other sites cannot ask here.")
    if len(request.url.query) > MAX_QUERY_CHARS or len(request.query_params.multi_items()) > MAX_PARAMETERS:
        return make_problem_response(414, "The address is too long.")
    if form not in FORMATS or (form != "json" and not operation.rows):
        return make_problem_response(400, f"{operation.name} does not answer in this format.")
    return None


def _parse_query(request: Request) -> tuple[str, Values]:
    """Return the format and the values; a repeated parameter has a tuple of texts."""
    values: dict[str, str | tuple[str, ...]] = {}
    for name in request.query_params:
        texts = tuple(request.query_params.getlist(name))
        values[name] = texts[0] if len(texts) == 1 else texts
    form = values.pop("format", "json")
    return form if isinstance(form, str) else "", values | request.path_params


def _compute_body(library: Library, operation: Operation, values: Values, form: str) -> bytes:
    body = operation.run(library, operation.check(values)).written(form)
    if form != "json":
        report = library.find(str(values["report"])).id if "report" in values else ""
        library.catalog.audit.write_or_log("downloaded", report, f"{values.get('analysis', operation.name)}.{form}")
    if len(body) > MOST_BYTES:
        raise AnalysisError("The answer is too large.", hint="Narrow the selection.")
    return body


async def _rename_report(request: Request) -> Response:
    """Give a report another name. No form and no other site can send a PUT; the middleware asks for an editor."""

    def rename() -> dict[str, str | None]:
        library = visitors.get_library(request.scope)
        report = library.find(request.path_params["report"])
        title = library.catalog.rename(report.id, request.query_params.get("title", ""))
        return {"id": report.id, "name": report.name, "title": title or None}

    try:
        return JSONResponse(
            await thread_pools.get_pool("rename_report").run(visitors.get_visitor(request.scope), rename)
        )
    except WarpdeckError as error:
        return make_error_response(error)


async def _describe_api(_: Request) -> Response:
    return JSONResponse(openapi.build_description())


async def _answer_unknown_path(_: Request) -> Response:
    return make_problem_response(404, "There is no such address.", f"{openapi.PREFIX}/openapi.json describes all.")
