"""The route that lists what the search finds besides pages: reports, and the kernels and ranges of one report."""

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from app import session
from app.ui import report_titles
from app.web import url_paths, visitors
from app.web.fair_pool import FairPool
from profiledb.errors import BusyError, ReportNotFoundError, WarpdeckError
from profiledb.library.library import Library
from profiledb.library.report_list import Filters
from profiledb.words import visible

PATH = "/_warpdeck/search"
MOST = 2_000
"""Reports, kernels and ranges at most, each: a browser with all reports asks nothing more."""
MOST_FOUND = 50
"""Reports that a text finds."""
LONGEST = 400
"""Length limit of a name, in characters."""
_POOL = FairPool(at_once=2, each=1, waiting=5, again_s=1)


def get_address() -> str:
    """Return the address of the route, as a browser asks for it."""
    return url_paths.add_base(PATH)


def make_route() -> Route:
    return Route(get_address(), _respond_to_search, methods=["GET"])


async def _respond_to_search(request: Request) -> Response:
    library, report_id = visitors.get_library(request.scope), request.query_params.get("report", "")
    headers = {"Cache-Control": "no-store"}
    text = request.query_params.get("q", "")[:LONGEST]
    try:
        items = await _POOL.run(visitors.get_visitor(request.scope), lambda: list_items(library, report_id, text))
    except ReportNotFoundError:
        return JSONResponse({"error": "There is no such report."}, 404, headers)
    except BusyError as error:
        return JSONResponse({"error": str(error)}, 429, headers | {"Retry-After": str(error.again_s)})
    reports = sum(item["kind"] == "report" for item in items)
    return JSONResponse({"items": items, "asks": bool(text) or reports == MOST}, headers=headers)


def list_items(library: Library, report_id: str, text: str = "") -> list[dict[str, Any]]:
    """Return the items of the search besides pages, as ``search.js`` reads them.

    These are the newest reports that the visitor sees, and the kernels and ranges of one report; with a text, the
    reports alone that it finds in the whole library.

    Raises:
        ReportNotFoundError: the visitor does not see that report.
    """
    listing = library.catalog.listing
    manifests = listing.page(Filters(text=text), most=MOST_FOUND) if text else listing.page(most=MOST)
    reports = {one.id: one for one in manifests}
    titles = report_titles.make_titles(reports)
    items = [
        _make_item("report", one.id, one.shown_name, titles[one.id].removeprefix(visible(one.shown_name)).lstrip(" ·"))
        for one in reports.values()
    ]
    if report_id and not text:
        library.catalog.visibility.require_reports(report_id)
        items += [_make_item("kernel", row["kernel"], row["name"]) for row in _read_rows(library, report_id, "kernels")]
        items += [
            _make_item("range", row["path"], row["path"]) for row in _read_rows(library, report_id, "range_paths")
        ]
    return items


def _make_item(kind: str, value: Any, name: Any, about: str = "") -> dict[str, Any]:
    return {"kind": kind, "value": str(value), "name": visible(name)[:LONGEST], "about": about[:LONGEST]}


def _read_rows(library: Library, report_id: str, analysis: str) -> list[Any]:
    """Return the rows of an analysis; none if the report lacks the data or cannot be read, which its pages report."""
    try:
        return session.answer(library, report_id, analysis).head(MOST).to_dict("records")
    except WarpdeckError:
        return []
