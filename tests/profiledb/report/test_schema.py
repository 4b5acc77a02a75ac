"""The schema documents itself: every table and column has its meaning, also inside a report file."""

from pathlib import Path

import duckdb
import pytest

from profiledb.report import schema, store


@pytest.mark.parametrize("copied", [False, True], ids=["made", "copied"])
def test_every_table_and_column_has_a_comment(tmp_path: Path, copied: bool) -> None:
    path = tmp_path / "report.duckdb"
    with store.create(path):
        pass
    if copied:
        ready = store.Ready(path.read_bytes())
        path = tmp_path / "copy.duckdb"
        with store.create(path, ready=ready) as db:
            db.execute("INSERT INTO string VALUES (1, 'a')")
    with duckdb.connect(str(path), read_only=True) as db:
        bare = "SELECT table_name, column_name FROM duckdb_columns() WHERE NOT internal AND comment IS NULL"
        assert db.execute(bare).fetchall() == []
        assert db.execute("SELECT table_name FROM duckdb_tables() WHERE comment IS NULL").fetchall() == []
        columns = "list(column_name ORDER BY column_index)"
        found = db.execute(
            f"SELECT table_name, {columns} FROM duckdb_columns() WHERE NOT internal GROUP BY 1"
        ).fetchall()
    assert dict(found) == {name: [c.name for c in table.columns] for name, table in schema.read_tables().items()}


def test_units_are_in_names_and_comments() -> None:
    units = {"_ns": "ns", "_bytes": "bytes", "_pct": "percent", "_hz": "Hz"}
    for table in schema.read_tables().values():
        for column in table.columns:
            for ending, word in units.items():
                if column.name.endswith(ending):
                    assert word in column.comment, f"{table.name}.{column.name}: {column.comment}"


def test_the_tables_that_were_promised_exist() -> None:
    promised = (
        "report gpu process thread kernel_name kernel memop api_call range mark sync osrt_call gpu_metric memory_event "
        "graph_launch nccl_call mpi_call sched_event cpu_sample diagnostic ncu_launch ncu_metric ncu_rule"
    )
    assert set(promised.split()) <= set(schema.read_tables())


def test_quoting() -> None:
    with duckdb.connect() as db:
        for text in ("it's", 'say "x"', "a;b--c"):
            assert db.execute(f"SELECT {schema.quote(text)} AS {schema.quote_identifier(text)}").fetchall() == [(text,)]


@pytest.mark.parametrize("text", ["", "a'b", "a\0b", "\0", "'\0'", "a''\0\0--", None, "ä; DROP"])
def test_any_text_is_a_literal(text: str | None) -> None:
    with duckdb.connect() as db:
        assert db.execute(f"SELECT {schema.quote(text)}").fetchone() == (text,)


@pytest.mark.parametrize("name", ['a"b', "a'b", "a\0b", "; --", "select"])
def test_any_name_is_an_identifier(name: str) -> None:
    with duckdb.connect() as db:
        db.execute(f"CREATE TABLE {schema.quote_identifier(name)} (a INTEGER)")
        assert db.execute(f"SELECT count(*) FROM {schema.quote_identifier(name)}").fetchone() == (0,)
