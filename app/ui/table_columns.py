"""Table columns: the header of an analysis lists the columns that its page shows, and describes them.

``list_shown("kernels")`` returns the columns listed in the header (``-- show:``). Other tables of the same analysis
name their columns: ``choose_columns("kernels", use("name", width=300), make_bar("share_pct"), "total_ns")``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypedDict, Unpack, cast

import pandas as pd

from profiledb.query import header
from profiledb.query.header import Column

Kind = Literal[
    "duration", "moment", "count", "bytes", "rate", "work", "flops", "percent", "number", "text", "class", "bar", "line"
]
Width = int | Literal["small", "medium", "large"] | None

_KINDS: dict[str, Kind] = {
    "ns": "duration", "bytes": "bytes", "bytes/s": "rate", "FLOP": "work", "FLOP/s": "flops",
    "%": "percent", "class": "class", "text": "text", "code": "text",
    "bool": "text", "count": "count", "id": "count", "blocks": "count", "threads": "count",
}  # fmt: skip
_MOMENTS = ("start_ns", "end_ns")
"""Suffixes of columns that hold a point in time rather than a duration."""
_SHOWN = {"": "", "number": "", "size": "", "x": "", "ratio": "×"}
"""Text behind the heading for units of plain numbers; other units are shown as they are."""


@dataclass(frozen=True)
class Col:
    """A column of a table. Pages construct one only for values that they compute themselves.

    Args:
        name: the column of the frame.
        label: its heading.
        unit: shown behind the heading; cells with a duration (in ns), bytes or FLOP carry their own unit.
        help: tooltip of the heading.
        kind: how cells are shown. A ``moment`` is a time on the report's clock, in one unit for the whole column.
            ``percent`` and ``bar`` hold 0 to 100, ``class`` the name of a kernel class, ``line`` a list of numbers
            that is drawn as a sparkline.
        signed: whether positive values get a plus sign, as changes do.
        width: pixels, or small, medium, large.
        click: whether a click on its cells selects the row; if no column sets it, any cell does.
    """

    name: str
    label: str
    unit: str = ""
    help: str = ""
    kind: Kind = "text"
    width: Width = None
    click: bool = False
    signed: bool = False


class Changes(TypedDict, total=False):
    """Overrides of ``Col`` fields by a page, mostly of how a column looks."""

    name: str
    label: str
    unit: str
    help: str
    kind: Kind
    width: Width
    signed: bool


class HeaderChanges(Changes, total=False):
    """Overrides for a column listed in an analysis header; ``click`` says what a click on a cell does."""

    click: str


@dataclass(frozen=True)
class Use:
    """A column by its name in the header, the page's overrides, and what a click on a cell does."""

    column: str
    changes: Changes
    click: str = ""


def use(column: str, /, *, click: str = "", **changes: Unpack[Changes]) -> Use:
    """Name a column with the page's overrides; ``name`` is the frame column that the page derived from it."""
    return Use(column, changes, click)


def make_bar(column: str, /, **changes: Unpack[Changes]) -> Use:
    """Name a percentage column that is drawn as a bar."""
    return Use(column, {"kind": "bar", **changes})


def list_shown(analysis: str, changes: Mapping[str, HeaderChanges] | None = None) -> tuple[Col, ...]:
    """Return the columns that the header of an analysis lists, with the page's overrides.

    Raises:
        KeyError: the header lists a column that the analysis does not have.
    """
    overrides = changes or {}
    return choose_columns(
        analysis, *(_change_use(one, dict(overrides.get(one.column, {}))) for one in header.get(analysis).show)
    )


def _change_use(one: header.Shown, changes: dict[str, Any]) -> Use:
    click = changes.pop("click", "")
    own = {"width": one.width, **({"kind": "bar"} if one.bar else {})}
    return Use(one.column, cast("Changes", own | changes), click)


def choose_columns(source: str | Sequence[Column], /, *wanted: str | Use | Col) -> tuple[Col, ...]:
    """Return the columns that a page shows, in the given order.

    Args:
        source: the name of an analysis, or the columns of a study.
        wanted: column names, or results of ``use`` and ``make_bar``; a ``Col`` is used as is.

    Raises:
        KeyError: the source has no column of that name.
    """
    known = {column.name: column for column in (header.get(source).columns if isinstance(source, str) else source)}
    return tuple(head if isinstance(head, Col) else _change_column(known, head) for head in wanted)


def _change_column(known: dict[str, Column], wanted: str | Use) -> Col:
    asked = use(wanted) if isinstance(wanted, str) else wanted
    column = known[asked.column]
    kind, unit = choose_kind(column)
    about = f"{column.help}; a click {asked.click}" if asked.click else column.help
    col = Col(column.name, column.title, unit, about[:1].upper() + about[1:], kind, click=bool(asked.click))
    return replace(col, **asked.changes)


def choose_kind(column: Column) -> tuple[Kind, str]:
    """Return the kind of a column, derived from its unit, and the unit behind its heading.

    A count with decimals is a mean of counts, so it is shown as a plain number.
    """
    if column.unit == "ns" and column.name.endswith(_MOMENTS):
        return "moment", ""
    kind = _KINDS.get(column.unit, "number")
    if kind == "count" and column.format:
        return "number", ""
    return kind, _SHOWN.get(column.unit, column.unit) if kind == "number" else ""


def select_filled(frame: pd.DataFrame, columns: Sequence[Col]) -> list[Col]:
    """Return the columns that have a value in at least one row."""
    return [column for column in columns if column.name in frame.columns and bool(frame[column.name].notna().any())]
