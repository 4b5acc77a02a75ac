"""One checker for every report: properties that hold for any capture and any version."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ingest.derive.paths import DEEPEST
from ingest.nsys import redact, sqlite
from ingest.nsys.attach import list_wanted_columns
from ingest.nsys.column_allowlist import FACTS, RAW
from profiledb.errors import NotCapturedError
from profiledb.library.library import Library
from profiledb.query import analysis, views
from profiledb.rules import classes
from tests.conftest import CORPUS, SAMPLES
from tests.support.answers import Answers, fitting
from tests.support.every_report import EVERY_REPORT, FILES, MOST_DIFFERENT, REFUSED, slow_but

TOO_NEW = ("too_new_2026", "transformer_inference", "transformer_training")
"""Reports that the installed nsys refuses, so that the export beside them is what was read."""
LEFT_OUT = {
    *("ANALYSIS_FILE", "GENERIC_EVENT_SOURCES", "GENERIC_EVENT_TYPES", "GENERIC_EVENT_TYPE_FIELDS", "ProcessStreams"),
    *("OSRT_FILE_ACCESS_DESCRIPTORS", "OSRT_FILE_ACCESS_EVENTS"),
}
"""Tables that are on no list: names of files, what the program printed, events of any kind."""
EXPORTS = [p for folder in (SAMPLES, CORPUS) for p in sorted(folder.glob("*.sqlite")) if p.name not in REFUSED]


def test_all_of_them_are_in_the_library(every_report: Library) -> None:
    assert {manifest.name for manifest in every_report.list()} == set(FILES)
    assert all(
        name in {Path(j.path).name for j in every_report.catalog.jobs() if j.state == "failed"}
        for name in REFUSED
        if (CORPUS / name).exists()
    )


@EVERY_REPORT
def test_invariants(every_report: Library, name: str) -> None:
    manifest = every_report.find(name)
    with every_report.cursor(manifest.id, views=views.list_all()) as db:

        def one(sql: str) -> object:
            row = db.execute(sql).fetchone()
            return row[0] if row else None

        for table, count in manifest.rows.items():
            assert one(f'SELECT count(*) FROM "{table}"') == count, table
        assert one("SELECT count(*) FROM report") == 1
        assert one("SELECT count(*) FROM kernel_name WHERE class IS NULL OR demangled IS NULL") == 0
        known = {kernel_class.name for kernel_class in classes.load()}
        assert {n for (n,) in db.execute("SELECT DISTINCT class FROM kernel_name").fetchall()} <= known
        assert one("SELECT count(*) FROM kernel LEFT JOIN kernel_name USING (name_id) WHERE demangled IS NULL") == 0
        for table in ("kernel", "memop", "api_call", "range", "osrt_call", "sync", "mpi_call", "openacc_event"):
            assert one(f"SELECT count(*) FROM {table} WHERE end_ns < start_ns OR start_ns IS NULL") == 0, table
        assert one("SELECT count(*) FROM range LEFT JOIN range_name USING (name_id) WHERE name IS NULL") == 0
        before = "lag(end_ns) OVER (PARTITION BY device_id ORDER BY start_ns)"
        assert one(f"SELECT count(*) FROM (SELECT start_ns <= {before} AS o FROM busy) WHERE o") == 0, (
            "busy intervals neither overlap nor touch"
        )
        longest = "SELECT coalesce(max(end_ns - start_ns), 0) <= (SELECT coalesce(sum(end_ns - start_ns), 0) FROM busy)"
        assert one(f"{longest} FROM kernel"), "busy covers every kernel"
        assert one("SELECT count(*) FROM ncu_metric LEFT JOIN ncu_launch USING (launch_id) WHERE kernel IS NULL") == 0


@pytest.mark.skipif(not CORPUS.exists(), reason="needs ../shared/corpus")
def test_strangers_kernels_have_classes(every_report: Library) -> None:
    """Almost none of the kernel time of strangers' reports is in unclassifiable kernels."""
    whole = other = 0
    for manifest in every_report.list():
        if (CORPUS / manifest.name).exists() and manifest.rows.get("kernel"):
            with every_report.cursor(manifest.id) as db:
                row = db.execute("""
                    SELECT sum(end_ns - start_ns)::BIGINT,
                        coalesce(sum(end_ns - start_ns) FILTER (class = 'other'), 0)::BIGINT
                    FROM kernel JOIN kernel_name USING (name_id)
                """).fetchone()
                assert row is not None
                whole, other = whole + row[0], other + row[1]
    print(f"{100 * other / whole:.2f} % of {whole / 1e9:.3f} s without a class")
    assert whole > 1e9
    assert other / whole < 0.01


INSIDE = "{0}.start_ns <= {1}.start_ns AND {0}.end_ns >= {1}.end_ns"
OF_RANGES = {
    "numbers are unique": "SELECT pre FROM range GROUP BY pre HAVING count(*) > 1 OR pre IS NULL",
    "numbers are in order": "FROM range WHERE pre > post OR post IS NULL",
    "levels and paths belong together": f"""
        FROM range LEFT JOIN range_path USING (path_id)
        WHERE least(range.level, {DEEPEST} + 1) IS DISTINCT FROM range_path.level
    """,
    "a parent contains its range": f"""
        FROM range AS one LEFT JOIN range AS up ON up.range_id = one.parent_id
        WHERE one.parent_id IS NOT NULL AND NOT coalesce(
            up.global_tid = one.global_tid AND up.level = one.level - 1 AND {INSIDE.format("up", "one")}, false)
    """,
    "ranges inside by number are so by time": f"""
        FROM range AS one JOIN range_path USING (path_id) ASOF JOIN range AS up ON one.pre > up.pre
        WHERE one.pre <= up.post AND NOT (up.global_tid = one.global_tid AND {INSIDE.format("up", "one")})
    """,
    "a range holds its calls": f"""
        FROM (
            SELECT call_id, thread_range FROM api_call UNION ALL SELECT call_id, thread_range FROM call_range
        ) AS found JOIN api_call AS call USING (call_id) LEFT JOIN range ON pre = found.thread_range
        WHERE found.thread_range IS NOT NULL AND NOT coalesce(
            range.global_tid = call.global_tid AND end_global_tid IS NULL AND {INSIDE.format("range", "call")}, false)
    """,
    "or the thread does that drives another one": f"""
        FROM (
            SELECT call_id, process_range FROM api_call UNION ALL SELECT call_id, process_range FROM call_range
        ) AS found JOIN api_call AS call USING (call_id) LEFT JOIN range ON pre = found.process_range
        LEFT JOIN thread_driver AS driver ON driver.global_tid = call.global_tid
        WHERE found.process_range IS NOT NULL AND NOT coalesce(
            range.global_tid IN (call.global_tid, driver_tid) AND end_global_tid IS NULL
            AND {INSIDE.format("range", "call")}, false)
    """,
    "what is in a range by thread is so by process": """
        FROM api_call WHERE thread_range IS NOT NULL AND thread_range IS DISTINCT FROM process_range
    """,
}
"""What no report may have."""


@EVERY_REPORT
def test_ranges_and_what_they_hold(every_report: Library, name: str) -> None:
    with every_report.cursor(every_report.find(name).id, views=views.list_all()) as db:
        for claim, wrong in OF_RANGES.items():
            assert db.execute(f"{wrong} LIMIT 3").fetchall() == [], claim
        for table in ("kernel", "memop", "graph_launch"):
            differs = "thing.{0}_range IS DISTINCT FROM call.{0}_range"
            wrong = f"{differs.format('thread')} OR {differs.format('process')}"
            assert (
                db.execute(f"FROM {table} AS thing LEFT JOIN api_call AS call USING (call_id) WHERE {wrong}").fetchall()
                == []
            )
            counts = f"""
                SELECT count(thread_range) AS attributed, count(process_range) - attributed AS inferred,
                    count(*) FILTER (process_range IS NULL) AS unattributed, count(*) AS total,
                    count(*) FILTER (call_id NOT IN (SELECT call_id FROM api_call)) AS astray FROM {table}
            """
            attributed, inferred, unattributed, total, astray = db.execute(counts).fetchall()[0]
            assert (attributed + inferred + unattributed, inferred >= 0, astray) == (total, True, 0), table


@pytest.mark.parametrize("name", slow_but(MOST_DIFFERENT, FILES, "asks every analysis of every report"))
def test_every_analysis_answers_or_says_what_is_missing(every_report: Library, answers: Answers, name: str) -> None:
    answered = 0
    for asking in fitting(every_report, name):
        try:
            frame = answers.frame(name, asking.name)
        except NotCapturedError as error:
            assert error.hint, asking.name  # noqa: PT017 - which ones are not captured differs by report
            continue
        assert list(frame.columns) == [column.name for column in asking.columns], asking.name
        answered += 1
    assert answered


@EVERY_REPORT
def test_class_split_is_the_whole_of_the_kernels(every_report: Library, answers: Answers, name: str) -> None:
    manifest = every_report.find(name)
    if "kernel" not in manifest.rows:
        with pytest.raises(NotCapturedError, match=r"in this report|No GPU activity"):
            answers.frame(name, "class_split")
        return
    split = answers.frame(name, "class_split")
    total = analysis.query(
        every_report, manifest.id, "SELECT sum(end_ns - start_ns)::BIGINT AS t, count(*) AS n FROM kernel"
    )
    assert split["total_ns"].sum() == total["t"][0]
    assert split["calls"].sum() == total["n"][0]


@pytest.mark.nsight
@pytest.mark.parametrize("path", [p for p in EXPORTS if p.stem in TOO_NEW], ids=lambda p: p.name)
def test_every_table_of_the_export_is_in_reach(every_report: Library, path: Path) -> None:
    """Each table is imported, or its numbers are in ``raw``, or the list of omitted tables names it."""
    report = every_report.find(read_from(path))
    assert "SQLite export" in str(report.converter)
    with (
        every_report.cursor(report.id, views=views.list_all()) as db,
        closing(sqlite3.connect(f"{path.as_uri()}?immutable=1", uri=True)) as export,
    ):
        kept = dict(
            db.execute(
                "SELECT table_name, list(column_name) FROM duckdb_columns() WHERE schema_name = 'raw' GROUP BY ALL"
            ).fetchall()
        )
        for table in sqlite.list_tables(path):
            if table.startswith("ENUM_"):
                continue
            columns = {row[1] for row in export.execute(f'PRAGMA table_info("{table}")')}
            if table in FACTS:
                continue  # names and values by a list of their own
            if table not in list_wanted_columns().keys() | RAW:
                assert table in LEFT_OUT, f"{table}: does it belong to kept.RAW?"
                continue
            unread = (
                columns - set(list_wanted_columns().get(table, {})) - {"binaryData"}
            )  # bytes: payload.py decodes them
            texts = {row[1] for row in export.execute(f'PRAGMA table_info("{table}")') if row[2] in ("TEXT", "BLOB")}
            assert unread - texts <= set(kept.get(table, [])), table


def read_from(path: Path) -> str:
    """The name of the report that an export is of: its own where no other file lies beside it."""
    return path.name if path.name in FILES else f"{path.stem}.nsys-rep"


@pytest.mark.parametrize("path", EXPORTS, ids=lambda p: p.name)
def test_no_environment_variable_gets_in(every_report: Library, path: Path) -> None:
    """No text of the report has an assignment from the export, not even inside another text."""
    secrets = {text for text in _environment(path) if len(text.partition("=")[2]) >= redact.SHORT}
    report = every_report.find(read_from(path))
    with every_report.cursor(report.id, views=views.list_all()) as db:
        db.execute("SELECT 1")
        for schema_name, table, column in db.execute(
            """
            SELECT DISTINCT schema_name, table_name, column_name FROM duckdb_columns()
            WHERE database_name LIKE 'r!_%' ESCAPE '!' AND data_type = 'VARCHAR' AND NOT internal
                AND database_name = 'r_' || ?
        """,
            [report.id],
        ).fetchall():
            texts = [
                t for (t,) in db.execute(f'SELECT DISTINCT "{column}" FROM {schema_name}."{table}"').fetchall() if t
            ]
            leaks = {secret.partition("=")[0] for secret in secrets for text in texts if secret in text}
            assert not leaks, f"{table}.{column} holds {len(leaks)} variables"


def _environment(path: Path) -> Iterator[str]:
    with closing(sqlite3.connect(f"{path.as_uri()}?immutable=1", uri=True)) as export:
        export.text_factory = lambda data: data.decode(errors="replace")
        tables = set(sqlite.list_tables(path))
        for table in tables & {"META_DATA_CAPTURE", "TARGET_INFO_SYSTEM_ENV"}:
            for name, value in export.execute(f"SELECT name, value FROM {table}"):
                if re.search("ENVIRONMENT_VARIABLE|DeviceEnvironment", name or ""):
                    yield from (value or "").splitlines()
        for (value,) in export.execute("SELECT value FROM StringIds"):
            if value and "\0" in value and redact.is_block(value):
                yield from value.split("\0")
