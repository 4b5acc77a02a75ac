"""An operation: what it is called, what it takes, and what it answers."""

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from profiledb import spreadsheet
from profiledb.errors import AnalysisError
from profiledb.library.library import Library

if TYPE_CHECKING:
    import pandas as pd

Values = Mapping[str, str | tuple[str, ...]]
"""What was asked: texts by name, several where a parameter may be repeated."""
FORMATS = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "arrow": "application/vnd.apache.arrow.stream",
    "parquet": "application/vnd.apache.parquet",
}
"""How rows are told, with their media types."""
MOST_ROWS = 100_000
"""Rows of an answer in JSON; the other formats have all."""
MOST_BYTES = 512 << 20
"""Bytes of an answer in memory."""


@dataclass(frozen=True)
class Param:
    """A parameter of an operation.

    Args:
        name: as programs write it.
        help: what it means.
        required: whether it must be given.
        many: whether it may be repeated.
        choices: values that it takes; empty where any goes.
    """

    name: str
    help: str
    required: bool = False
    many: bool = False
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Result:
    """An answer: what it tells as JSON, and its rows where it has any.

    ``csv`` writes the rows as the command line does; without it they are written as they are.
    """

    told: Mapping[str, Any]
    rows: "pd.DataFrame | None" = None
    csv: Callable[[], bytes] | None = None

    def plain(self, most: int = MOST_ROWS) -> dict[str, Any]:
        """As JSON takes it: at most so many rows, with the number of all."""
        if self.rows is None:
            return dict(self.told)
        shown = self.rows.head(most)
        rows = json.loads(shown.to_json(orient="records", date_format="iso", double_precision=15))
        return {**self.told, "total": len(self.rows), "cut": len(self.rows) > most, "rows": rows}

    def written(self, form: str) -> bytes:
        """In one of ``FORMATS``; AnalysisError where it has no rows for that."""
        if form == "json":
            return json.dumps(self.plain(), ensure_ascii=False, allow_nan=False, default=str).encode(errors="replace")
        if self.rows is None:
            raise AnalysisError("This answer has no rows: ask for json.")
        if form == "csv":
            return self.csv() if self.csv else spreadsheet.csv_text(self.rows).encode()
        return _arrow(self.rows, form)


def _arrow(rows: "pd.DataFrame", form: str) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table, out = pa.Table.from_pandas(rows, preserve_index=False), io.BytesIO()
    if form == "parquet":
        pq.write_table(table, out, compression="zstd")
    else:
        with pa.ipc.new_stream(out, table.schema) as stream:
            stream.write_table(table)
    return out.getvalue()


@dataclass(frozen=True)
class Operation:
    """Something that programs may ask.

    Args:
        name: as tools and the description call it.
        path: below the address of the API; names in braces are parameters.
        title: what it does, in a line.
        help: what the answer holds.
        params: what it takes.
        run: answers for a library and these values; raises WarpdeckError.
        further: whether further parameters go to the analysis and the selection.
        rows: whether it answers rows, which come in all ``FORMATS``.
    """

    name: str
    path: str
    title: str
    help: str
    params: tuple[Param, ...]
    run: Callable[[Library, Values], Result] = field(repr=False)
    further: bool = False
    rows: bool = False

    def check(self, values: Values) -> Values:
        """The values, where the operation takes them; raises AnalysisError."""
        known = {param.name: param for param in self.params}
        for name, value in values.items():
            param = known.get(name)
            if param is None and not self.further:
                raise AnalysisError(f"{self.name} has no parameter {name!r}.")
            if param and param.choices and value not in param.choices:
                raise AnalysisError(f"{name} takes one of {', '.join(param.choices)}.")
            if param and not param.many and not isinstance(value, str):
                raise AnalysisError(f"{name} can be given only once.")
        if lacking := [name for name, param in known.items() if param.required and not values.get(name)]:
            raise AnalysisError(f"{lacking[0]} is missing.")
        return values
