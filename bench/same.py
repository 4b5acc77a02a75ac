"""Compare two libraries of the same files: `python -m bench.same ONE OTHER`; exit status 1 if they differ.

For changes of the import that must not change reports. Rows are compared in any order, NaN equals NaN; import times and
durations are ignored.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb

from profiledb.report.schema import quote, quote_identifier

LEFT_OUT = ("stored_result", "result.")
"""Starts of names of optional tables: answers that can be computed again."""


def find_differences(one: Path, other: Path) -> Iterator[str]:
    """Yield a sentence for each difference of two libraries' reports."""
    left, right = ({path.name: path for path in (folder / "reports").glob("*.duckdb")} for folder in (one, other))
    for name in sorted(left.keys() ^ right.keys()):
        yield f"{name} is in one library only"
    for name in sorted(left.keys() & right.keys()):
        for sentence in _compare_reports(left[name], right[name]):
            yield f"{name}: {sentence}"


def _compare_reports(one: Path, other: Path) -> Iterator[str]:
    with duckdb.connect() as db:
        db.execute(f"ATTACH {quote(str(one))} AS one (READ_ONLY); ATTACH {quote(str(other))} AS other (READ_ONLY)")
        left, right = _list_columns(db, "one"), _list_columns(db, "other")
        for table in sorted(left.keys() ^ right.keys()):
            yield f"the table {table} is in one report only"
        for table in sorted(left.keys() & right.keys()):
            if left[table] != right[table]:
                yield f"{table} has other columns"
            elif (rows := _count_rows(db, table)) != (0, 0):
                yield f"{table} has {rows[0]:,} rows that the other one lacks, and lacks {rows[1]:,}"


def _list_columns(db: duckdb.DuckDBPyConnection, catalog: str) -> dict[str, list[tuple[str, str, str]]]:
    """Return the tables of a report with the names, types and comments of their columns."""
    rows = db.execute(f"""
        SELECT CASE schema_name WHEN 'main' THEN '' ELSE schema_name || '.' END || table_name, column_name, data_type,
            coalesce(comment, '')
        FROM duckdb_columns() WHERE database_name = {quote(catalog)} ORDER BY ALL
    """).fetchall()
    tables: dict[str, list[tuple[str, str, str]]] = {}
    for table, *column in rows:
        if not table.startswith(LEFT_OUT):
            tables.setdefault(table, []).append((column[0], column[1], column[2]))
    return tables


def _count_rows(db: duckdb.DuckDBPyConnection, table: str) -> tuple[int, int]:
    """Return rows that only one report has, and rows that only the other one has, as often as they occur."""
    name = ".".join(map(quote_identifier, table.split("."))) if "." in table else f"main.{quote_identifier(table)}"
    (row,) = db.execute(f"""
        WITH a AS (SELECT hash(t) AS h, count(*) AS n FROM one.{name} AS t GROUP BY h),
            b AS (SELECT hash(t) AS h, count(*) AS n FROM other.{name} AS t GROUP BY h)
        SELECT coalesce(sum(greatest(0, coalesce(a.n, 0) - coalesce(b.n, 0))), 0)::BIGINT,
            coalesce(sum(greatest(0, coalesce(b.n, 0) - coalesce(a.n, 0))), 0)::BIGINT
        FROM a FULL JOIN b USING (h)
    """).fetchall()
    return int(row[0]), int(row[1])


def main(arguments: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.same", description=__doc__)
    parser.add_argument("one", type=Path, help="a library's folder")
    parser.add_argument("other", type=Path, help="that of the same files, taken in another way")
    chosen = parser.parse_args(arguments)
    count = 0
    for sentence in find_differences(chosen.one, chosen.other):
        print(sentence)
        count += 1
    reports = len(list((chosen.one / "reports").glob("*.duckdb")))
    print(f"{reports} reports compared, {count} differences")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
