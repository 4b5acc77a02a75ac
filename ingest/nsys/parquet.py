"""Read Parquet exports by DuckDB, and by pyarrow if a text is not UTF-8, which DuckDB refuses."""

from functools import partial
from pathlib import Path

import duckdb

from ingest.nsys.source import Facts, Payloads, Source, select_columns
from profiledb.report.schema import quote, quote_identifier
from profiledb.report.store import Access


def get_access(folder: Path) -> Access:
    """Return the access that loading a folder of Parquet files needs."""
    return Access((folder,))


def open_export(db: duckdb.DuckDBPyConnection, folder: Path) -> Source:
    """Return the tables of a parquetdir export, a file each."""
    files = {path.stem: path for path in sorted(folder.glob("*.parquet"))}
    return Source(
        {name: _select_table(name, path) for name, path in files.items()},
        folder.name,
        partial(_select_payloads, folder / "NVTX_EVENTS.parquet"),
        partial(_select_facts, db, folder),
        partial(_select_lossy, db, folder),
    )


def _select_table(table: str, path: Path) -> str:
    columns = select_columns(table)
    return (
        f"SELECT file_row_number + 1 AS row_id, {columns} FROM read_parquet({quote(str(path))}, file_row_number=true)"
    )


def _select_payloads(path: Path) -> Payloads:
    import pyarrow as pa  # here: it takes 0.1 s, and few captures have payloads
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        if not {"binaryData", "domainId"} <= set(file.schema_arrow.names):
            return
        before = 0
        for batch in file.iter_batches(columns=["binaryData", "domainId"]):
            blobs = batch.column("binaryData").cast(pa.large_binary())
            for number in blobs.is_valid().to_numpy(zero_copy_only=False).nonzero()[0].tolist():
                yield before + number + 1, batch.column("domainId")[number].as_py(), blobs[number].as_py()
            before += batch.num_rows


def _select_facts(db: duckdb.DuckDBPyConnection, folder: Path, table: str) -> Facts:
    path = folder / f"{table}.parquet"
    if not path.exists():
        return []
    query = f"SELECT name::VARCHAR, value::VARCHAR FROM read_parquet({quote(str(path))})"
    try:
        return [(name or "", value) for name, value in db.execute(query).fetchall()]
    except (duckdb.Error, UnicodeDecodeError):  # their messages may quote secrets and are not stored
        pass
    columns = _select_texts(path)
    if not {"name", "value"} <= columns.keys():
        return []
    return [(name or "", value) for name, value in zip(columns["name"], columns["value"], strict=True)]


def _select_lossy(db: duckdb.DuckDBPyConnection, folder: Path, table: str) -> str:
    """Return the table with every text decoded and other columns unchanged."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / f"{table}.parquet"
    whole = pq.read_table(path)
    texts = _select_texts(path)
    for place, field in enumerate(whole.schema):
        if field.name in texts:
            whole = whole.set_column(place, field.name, pa.array(texts[field.name], pa.string()))
    view = f"repaired {table}"
    db.register(view, whole)
    return f"SELECT row_number() OVER () AS row_id, {select_columns(table)} FROM {quote_identifier(view)}"


def _select_texts(path: Path) -> dict[str, list[str | None]]:
    """Return the text columns of a file, whatever bytes they hold."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        names = [f.name for f in file.schema_arrow if pa.types.is_string(f.type) or pa.types.is_large_string(f.type)]
        columns = file.read(columns=names)
    cells = {name: columns[name].cast(pa.large_binary()).to_pylist() for name in names}
    return {
        name: [None if cell is None else cell.decode("utf-8", "replace") for cell in column]
        for name, column in cells.items()
    }
