"""Answer the queries of a timeline: for each route a function from query parameters to the body of the response."""

import io
import json
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlencode

import duckdb

from profiledb.errors import AnalysisError
from profiledb.library.library import Library
from profiledb.timeline import alignment, area, event, events, names, neighbors, operators, search, tiles, trace
from profiledb.timeline.lanes import get_pid, get_tid
from profiledb.timeline.open_timeline import Opened

MAX_NUMBER_CHARS = 20
MAX_TRACE_EVENTS = 250_000
"""Limit of a trace that a browser downloads; the command line has none."""


class QueryParameters:
    """The query parameters of a request, checked as they are read, and the library as its sender sees it."""

    def __init__(self, items: Sequence[tuple[str, str]], library: Library) -> None:
        self._items = items
        self.library = library

    def get_texts(self, name: str) -> list[str]:
        """Return all values of a parameter."""
        return [value for key, value in self._items if key == name]

    def get_text(self, name: str, default: str | None = None) -> str:
        """Return the first value of a parameter.

        Raises:
            AnalysisError: it is missing and has no default.
        """
        texts = self.get_texts(name)
        if not texts and default is None:
            raise AnalysisError(f"{name} is missing.")
        return texts[0] if texts else default or ""

    def get_number(self, name: str, default: int | None = None) -> int:
        """Return the first value of a parameter as an integer.

        Raises:
            AnalysisError: it is missing and has no default, or it is no integer.
        """
        return _parse_integer(name, self.get_text(name, None if default is None else str(default)))

    def get_numbers(self, name: str) -> list[int]:
        """Return the integers of a parameter, separated by commas or given as several values.

        Raises:
            AnalysisError: one of them is no integer.
        """
        return [_parse_integer(name, text) for value in self.get_texts(name) for text in value.split(",") if text]


def _parse_integer(name: str, text: str) -> int:
    digits = text.removeprefix("-")
    if len(text) > MAX_NUMBER_CHARS or not digits.isascii() or not digits.isdigit():
        raise AnalysisError(f"{name} takes a whole number.")
    number = int(text)
    if abs(number) > 1 << 62:
        raise AnalysisError(f"{name} is too large.")
    return number


def answer_lanes(_: duckdb.DuckDBPyConnection, opened: Opened, __: QueryParameters) -> bytes:
    """Return the tree of lanes with their classes and steps, and the version that all other answers belong to."""
    answer = {
        "version": opened.version,
        "origin_ns": str(opened.origin_ns),
        "begin_ns": opened.begin_ns,
        "end_ns": opened.end_ns,
        "names_count": len(opened.codes),
        "left_out": opened.left_out,
        "classes": [vars(kernel_class) for kernel_class in opened.classes],
        "legend": opened.list_legend(),
        "lanes": [_describe_lane(lane) for lane in opened.listed],
        "steps": [{"start": s, "end": e, "name": name, "warmup": warmup} for s, e, name, warmup in opened.steps],
    }
    return _encode_json(answer)


def _describe_lane(lane: dict[str, Any]) -> dict[str, Any]:
    columns = ("id", "parent", "kind", "title", "detail", "rows", "events", "busy_ns")
    described = {column: lane[column] for column in columns} | {"group": lane["grp"]}
    owner = lane["tid"] or lane["pid"]
    optional = {
        "device": lane["device"], "stream": lane["stream"], "unit": lane["unit"], "max": lane["max"],
        "tid": get_tid(lane["tid"]) if lane["tid"] else None, "pid": get_pid(owner) if owner else None,
    }  # fmt: skip
    return described | {key: value for key, value in optional.items() if value is not None}


def answer_tile(cursor: duckdb.DuckDBPyConnection, opened: Opened, parameters: QueryParameters) -> bytes:
    """Return a tile of some groups of lanes."""
    return tiles.make_tile(
        cursor, opened, parameters.get_numbers("g"), parameters.get_number("z"), parameters.get_number("i"),
        captured=parameters.get_text("colors", "") == "capture",
    )  # fmt: skip


def answer_names(cursor: duckdb.DuckDBPyConnection, _: Opened, parameters: QueryParameters) -> bytes:
    """Return names by their ids."""
    ids = parameters.get_numbers("ids")
    if len(ids) > names.MOST:
        raise AnalysisError(f"A request names at most {names.MOST} ids.")
    return _encode_json(names.read_texts(cursor, ids))


def answer_event(cursor: duckdb.DuckDBPyConnection, opened: Opened, parameters: QueryParameters) -> bytes:
    """Return the facts of an event, and links to the pages that show more of it."""
    answer = event.describe_event(cursor, opened, parameters.get_number("lane"), parameters.get_number("ref"))
    about = answer.pop("about")
    if about["table"] == "kernel":
        answer["rows"] += operators.describe_operator(parameters.library, opened.report_id, about["id"])
    report = {"report": opened.report_id}
    links = {}
    if about["kernel"] is not None:
        links["kernel"] = "kernel?" + urlencode(report | {"kernel": about["kernel"]})
    if about["range"]:
        links["range"] = "ranges?" + urlencode(report | {"range": about["range"]})
    return _encode_json(answer | {"links": links})


def answer_neighbor(cursor: duckdb.DuckDBPyConnection, opened: Opened, parameters: QueryParameters) -> bytes:
    """Return the next or previous event of a lane, or the slowest or fastest of a name; null if there is none."""
    if parameters.get_texts("by"):
        lane = parameters.get_number("lane") if parameters.get_texts("lane") else None
        neighbor = neighbors.find_extreme(
            cursor, opened, parameters.get_text("by"), parameters.get_number("name"), lane
        )
    else:
        name = parameters.get_number("name") if parameters.get_texts("name") else None
        start_lane, start_ns = parameters.get_number("lane"), parameters.get_number("t")
        neighbor = neighbors.find_neighbor(cursor, opened, start_lane, start_ns, parameters.get_text("dir"), name)
    return _encode_json(events.format_event(opened, neighbor) if neighbor else None)


def answer_area(cursor: duckdb.DuckDBPyConnection, opened: Opened, parameters: QueryParameters) -> bytes:
    """Return statistics of a time range in some lanes."""
    from_ns, to_ns = parameters.get_number("from"), parameters.get_number("to")
    return _encode_json(area.measure_area(cursor, opened, from_ns, to_ns, parameters.get_numbers("lanes")))


def answer_search(cursor: duckdb.DuckDBPyConnection, opened: Opened, parameters: QueryParameters) -> bytes:
    """Return the hits of a search over the capture."""
    return _encode_json(
        search.search_names(cursor, opened, parameters.get_text("q"), parameters.get_text("how", "part"))
    )


def answer_moments(cursor: duckdb.DuckDBPyConnection, opened: Opened, _: QueryParameters) -> bytes:
    """Return the moments by which this report can be aligned with others."""
    return _encode_json(alignment.read_alignment(cursor, opened))


def answer_trace(cursor: duckdb.DuckDBPyConnection, opened: Opened, parameters: QueryParameters) -> bytes:
    """Return a time range as a trace for Perfetto."""
    from_ns, to_ns = parameters.get_number("from"), parameters.get_number("to")
    if to_ns <= from_ns:
        raise AnalysisError("The area has no length.")
    file = io.BytesIO()
    trace.write_trace(cursor, opened, file, [(from_ns, to_ns)], MAX_TRACE_EVENTS)
    return file.getvalue()


def _encode_json(answer: Any) -> bytes:
    return json.dumps(answer, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode(errors="replace")


ANSWERS: dict[str, Callable[[duckdb.DuckDBPyConnection, Opened, QueryParameters], bytes]] = {
    "lanes": answer_lanes,
    "tile": answer_tile,
    "names": answer_names,
    "event": answer_event,
    "near": answer_neighbor,
    "area": answer_area,
    "search": answer_search,
    "moments": answer_moments,
    "trace": answer_trace,
}
DOWNLOAD_NAMES = {"trace": "timeline.pftrace"}
"""Answers that a browser saves, with the name of the file."""
CACHEABLE = ("tile",)
"""Answers that never change within a version."""
