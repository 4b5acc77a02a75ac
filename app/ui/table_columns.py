"""The columns of tables: the header of an analysis says which its page shows, and what they are.

``shown("kernels")`` are those of the header (``-- show:``). Another table of the same analysis names its columns:
``of("kernels", use("name", width=300), bar("share_pct"), "total_ns")``.
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
"""How columns end that say when something was, not how long it took."""
_SHOWN = {"": "", "number": "", "size": "", "x": "", "ratio": "×"}
"""What stands behind the heading for the unit of a plain number, where it is not the unit itself."""


@dataclass(frozen=True)
class Col:
    """A column of a table. Pages write one out only for what they work out themselves.

    Args:
        name: the column of the frame.
        label: its heading.
        unit: shown behind the heading; cells of a ``duration`` (given in ns), of bytes and FLOP carry their own.
        help: what it means, on hovering over the heading.
        kind: how it is shown. A ``moment`` is a time on the report's clock, in one unit for all cells. ``percent`` and
            ``bar`` hold percent, 0 to 100; ``class`` the name of a kernel class; ``line`` a list of numbers, which is
            drawn.
        signed: whether what is above 0 carries a plus, as changes do.
        width: pixels, or small, medium, large.
        click: whether a click on a cell of it selects its row; where no column says so, any cell does.
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
    """What a page says of a column itself: fields of Col, mostly those of the screen alone."""

    name: str
    label: str
    unit: str
    help: str
    kind: Kind
    width: Width
    signed: bool


class HeaderChanges(Changes, total=False):
    """The same of a column that the header of an analysis names; ``click``: what a click on a cell of it does."""

    click: str


@dataclass(frozen=True)
class Use:
    """A column by its name in the header, what the page says otherwise, and what a click on a cell of it does."""

    column: str
    changes: Changes
    click: str = ""


def use(column: str, /, *, click: str = "", **changes: Unpack[Changes]) -> Use:
    """A column with what the page says of it; ``name`` is that of the frame, where the page made it of the column."""
    return Use(column, changes, click)


def bar(column: str, /, **changes: Unpack[Changes]) -> Use:
    """A percentage that is drawn as a bar."""
    return Use(column, {"kind": "bar", **changes})


def shown(analysis: str, changes: Mapping[str, HeaderChanges] | None = None) -> tuple[Col, ...]:
    """Return the columns that the header of an analysis names, with what the page says of some otherwise.

    Raises:
        KeyError: the header shows a column that the analysis does not have.
    """
    said = changes or {}
    return of(analysis, *(_use(one, dict(said.get(one.column, {}))) for one in header.get(analysis).show))


def _use(one: header.Shown, changes: dict[str, Any]) -> Use:
    click = changes.pop("click", "")
    own = {"width": one.width, **({"kind": "bar"} if one.bar else {})}
    return Use(one.column, cast("Changes", own | changes), click)


def of(source: str | Sequence[Column], /, *wanted: str | Use | Col) -> tuple[Col, ...]:
    """The columns that a page shows, in its order.

    Args:
        source: the name of an analysis, or the columns of a study.
        wanted: names of columns, or what ``use`` and ``bar`` make; a ``Col`` is the page's own and stays as it is.

    Raises:
        KeyError: the source has no column of a name.
    """
    known = {column.name: column for column in (header.get(source).columns if isinstance(source, str) else source)}
    return tuple(head if isinstance(head, Col) else _col(known, head) for head in wanted)


def _col(known: dict[str, Column], wanted: str | Use) -> Col:
    asked = use(wanted) if isinstance(wanted, str) else wanted
    column = known[asked.column]
    kind, unit = shown_as(column)
    about = f"{column.help}; a click {asked.click}" if asked.click else column.help
    col = Col(column.name, column.title, unit, about[:1].upper() + about[1:], kind, click=bool(asked.click))
    return replace(col, **asked.changes)


def shown_as(column: Column) -> tuple[Kind, str]:
    """How a column is shown by its unit, and the unit behind its heading. A count with decimals is a mean of counts."""
    if column.unit == "ns" and column.name.endswith(_MOMENTS):
        return "moment", ""
    kind = _KINDS.get(column.unit, "number")
    if kind == "count" and column.format:
        return "number", ""
    return kind, _SHOWN.get(column.unit, column.unit) if kind == "number" else ""


def filled(frame: pd.DataFrame, columns: Sequence[Col]) -> list[Col]:
    """The columns that have a value in any row."""
    return [column for column in columns if column.name in frame.columns and bool(frame[column.name].notna().any())]
