"""An answer as a file: CSV, JSON or Parquet."""

import io
import json
from typing import TYPE_CHECKING, Any

from profiledb import spreadsheet

if TYPE_CHECKING:
    import pyarrow as pa


def encode_rows(rows: "pa.Table", form: str) -> bytes:
    """Encode rows as csv with a header, json (both in UTF-8) or parquet; a missing value is empty."""
    if form == "parquet":
        import pyarrow.parquet as pq

        out = io.BytesIO()
        pq.write_table(rows, out, compression="zstd")
        return out.getvalue()
    if form == "json":
        plain_rows = [
            {name: None if _is_missing(value) else value for name, value in row.items()} for row in rows.to_pylist()
        ]
        return json.dumps(plain_rows, default=str, indent=1, ensure_ascii=False).encode(errors="replace")
    columns = [column.to_pylist() for column in rows.columns]
    cells = (["" if _is_missing(value) else value for value in row] for row in zip(*columns, strict=True))
    return spreadsheet.format_csv_lines([rows.column_names, *cells]).encode(errors="replace")


def _is_missing(value: Any) -> bool:
    return value is None or value != value  # noqa: PLR0124 - only NaN differs from itself
