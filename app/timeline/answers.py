"""What each address of a timeline answers, from the part of it behind the question mark."""

import io
import json
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlencode

import duckdb

from profiledb.errors import AnalysisError
from profiledb.library.library import Library
from profiledb.timeline import alignment, area, event, events, names, neighbors, operators, search, tiles, trace
from profiledb.timeline.lanes import pid_of, tid_of
from profiledb.timeline.open_timeline import Opened

LONGEST_NUMBER = 20
"""Characters of a number."""
MOST_TRACED = 250_000
"""Events of a trace that a browser gets; the command line has no bound."""


class Asked:
    """The parameters of a request, each checked when it is read, and the library as whoever asks sees it."""

    def __init__(self, items: Sequence[tuple[str, str]], library: Library) -> None:
        self._items = items
        self.library = library

    def texts(self, name: str) -> list[str]:
        """All values of a parameter."""
        return [value for key, value in self._items if key == name]

    def text(self, name: str, default: str | None = None) -> str:
        """The one value of a parameter; raises AnalysisError where it is missing and has no default."""
        found = self.texts(name)
        if not found and default is None:
            raise AnalysisError(f"{name} is missing.")
        return found[0] if found else default or ""

    def number(self, name: str, default: int | None = None) -> int:
        """The one value of a parameter as a whole number; raises AnalysisError where it is none."""
        return _whole(name, self.text(name, None if default is None else str(default)))

    def numbers(self, name: str) -> list[int]:
        """The whole numbers of a parameter, with commas in between or in several of it."""
        return [_whole(name, part) for value in self.texts(name) for part in value.split(",") if part]


def _whole(name: str, text: str) -> int:
    if len(text) > LONGEST_NUMBER or not text.removeprefix("-").isascii() or not text.removeprefix("-").isdigit():
        raise AnalysisError(f"{name} takes a whole number.")
    number = int(text)
    if abs(number) > 1 << 62:
        raise AnalysisError(f"{name} is too large.")
    return number


def lanes(_: duckdb.DuckDBPyConnection, opened: Opened, __: Asked) -> bytes:
    """The tree of lanes, and what everything else refers to."""
    answer = {
        "version": opened.version,
        "origin_ns": str(opened.origin_ns),
        "begin_ns": opened.begin_ns,
        "end_ns": opened.end_ns,
        "names_count": len(opened.codes),
        "left_out": opened.left_out,
        "classes": [vars(one) for one in opened.classes],
        "lanes": [_lane(lane) for lane in opened.listed],
        "steps": [{"start": s, "end": e, "name": name, "warmup": warmup} for s, e, name, warmup in opened.steps],
    }
    return _json(answer)


def _lane(lane: dict[str, Any]) -> dict[str, Any]:
    shown = {key: lane[key] for key in ("id", "parent", "kind", "title", "detail", "rows", "events", "busy_ns")}
    shown["group"] = lane["grp"]
    owner = lane["tid"] or lane["pid"]
    numbers = {
        "device": lane["device"], "stream": lane["stream"], "unit": lane["unit"], "max": lane["max"],
        "tid": tid_of(lane["tid"]) if lane["tid"] else None, "pid": pid_of(owner) if owner else None,
    }  # fmt: skip
    return shown | {key: value for key, value in numbers.items() if value is not None}


def tile(cursor: duckdb.DuckDBPyConnection, opened: Opened, asked: Asked) -> bytes:
    """A tile of some groups of lanes."""
    return tiles.make_tile(cursor, opened, asked.numbers("g"), asked.number("z"), asked.number("i"))


def named(cursor: duckdb.DuckDBPyConnection, _: Opened, asked: Asked) -> bytes:
    """The texts of some numbers of names."""
    ids = asked.numbers("ids")
    if len(ids) > names.MOST:
        raise AnalysisError(f"At most {names.MOST} names are told at once.")
    return _json(names.read_texts(cursor, ids))


def told(cursor: duckdb.DuckDBPyConnection, opened: Opened, asked: Asked) -> bytes:
    """Everything of one event."""
    found = event.describe_event(cursor, opened, asked.number("lane"), asked.number("ref"))
    about = found.pop("about")
    if about["table"] == "kernel":
        found["rows"] += operators.describe_operator(asked.library, opened.report_id, about["id"])
    report = {"report": opened.report_id}
    links = {}
    if about["kernel"] is not None:
        links["kernel"] = "kernel?" + urlencode(report | {"kernel": about["kernel"]})
    if about["range"]:
        links["range"] = "nvtx?" + urlencode(report | {"range": about["range"]})
    return _json(found | {"links": links})


def beside(cursor: duckdb.DuckDBPyConnection, opened: Opened, asked: Asked) -> bytes:
    """The next or previous event of a lane, or the slowest or fastest of a name; null where there is none."""
    name = asked.number("name") if asked.texts("name") else None
    if asked.texts("by"):
        lane = asked.number("lane") if asked.texts("lane") else None
        found = neighbors.find_extreme(cursor, opened, asked.text("by"), asked.number("name"), lane)
    else:
        found = neighbors.find_neighbor(
            cursor, opened, asked.number("lane"), asked.number("t"), asked.text("dir"), name
        )
    return _json(events.item(opened, found) if found else None)


def area_of(cursor: duckdb.DuckDBPyConnection, opened: Opened, asked: Asked) -> bytes:
    """What a part of the time holds in some lanes, in numbers."""
    return _json(area.measure_area(cursor, opened, asked.number("from"), asked.number("to"), asked.numbers("lanes")))


def searched(cursor: duckdb.DuckDBPyConnection, opened: Opened, asked: Asked) -> bytes:
    """What a search over the capture finds."""
    return _json(search.search_names(cursor, opened, asked.text("q"), asked.text("how", "part")))


def moments_of(cursor: duckdb.DuckDBPyConnection, opened: Opened, _: Asked) -> bytes:
    """What this report is aligned with others by."""
    return _json(alignment.read_alignment(cursor, opened))


def traced(cursor: duckdb.DuckDBPyConnection, opened: Opened, asked: Asked) -> bytes:
    """What lies in a part of the time as a trace for Perfetto."""
    low, high = asked.number("from"), asked.number("to")
    if high <= low:
        raise AnalysisError("The area has no length.")
    file = io.BytesIO()
    trace.write_trace(cursor, opened, file, [(low, high)], MOST_TRACED)
    return file.getvalue()


def _json(answer: Any) -> bytes:
    return json.dumps(answer, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode(errors="replace")


ANSWERS: dict[str, Callable[[duckdb.DuckDBPyConnection, Opened, Asked], bytes]] = {
    "lanes": lanes,
    "tile": tile,
    "names": named,
    "event": told,
    "near": beside,
    "area": area_of,
    "search": searched,
    "moments": moments_of,
    "trace": traced,
}
FILES = {"trace": "timeline.pftrace"}
"""Answers that a browser saves, with the name that a file then has."""
KEPT = ("tile",)
"""Answers that stay the same as long as the version does."""
