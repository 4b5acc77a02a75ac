"""An operation: its name, parameters and answer."""

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
"""Values of a call: texts by name, several if a parameter may be repeated."""
FORMATS = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "arrow": "application/vnd.apache.arrow.stream",
    "parquet": "application/vnd.apache.parquet",
}
"""Formats of rows with their media types."""
MOST_ROWS = 100_000
"""Largest number of rows of an answer in JSON; other formats have all rows."""
MOST_BYTES = 512 << 20
"""Size limit of an answer in memory, in bytes."""


@dataclass(frozen=True)
class Param:
    """A parameter of an operation.

    Args:
        name: as programs write it.
        help: its meaning.
        required: True if it must be given.
        many: True if it may be repeated.
        choices: possible values; empty for any.
    """

    name: str
    help: str
    required: bool = False
    many: bool = False
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Result:
    """An answer: content for JSON, and rows if it has any.

    ``csv`` writes the rows as the command line does; None writes them as they are.
    """

    content: Mapping[str, Any]
    rows: "pd.DataFrame | None" = None
    csv: Callable[[], bytes] | None = None

    def plain(self, most: int = MOST_ROWS) -> dict[str, Any]:
        """Return the content for JSON, with at most ``most`` rows and the number of all."""
        if self.rows is None:
            return dict(self.content)
        shown = self.rows.head(most)
        rows = json.loads(shown.to_json(orient="records", date_format="iso", double_precision=15))
        return {**self.content, "total": len(self.rows), "cut": len(self.rows) > most, "rows": rows}

    def written(self, form: str) -> bytes:
        """Encode in one of ``FORMATS``; raises AnalysisError if that needs rows and there are none."""
        if form == "json":
            return json.dumps(self.plain(), ensure_ascii=False, allow_nan=False, default=str).encode(errors="replace")
        if self.rows is None:
            raise AnalysisError("This answer has no rows: ask for json.")
        if form == "csv":
            return self.csv() if self.csv else spreadsheet.format_csv(self.rows).encode()
        return _encode_arrow(self.rows, form)


def _encode_arrow(rows: "pd.DataFrame", form: str) -> bytes:
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
    """A question that programs may ask.

    Args:
        name: of the tool and in the description.
        path: below the address of the API; names in braces are parameters.
        title: purpose, in one line.
        help: content of the answer.
        params: its parameters.
        run: answers, given a library and values; raises WarpdeckError.
        further: True if further parameters go to the analysis and the selection.
        rows: True if it answers rows, in all ``FORMATS``.
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
        """Return the values if the operation accepts them; else raise AnalysisError."""
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
