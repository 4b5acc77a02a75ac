"""Harmless questions in SQL: visible tables, and formats of answers."""

import csv
import io
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from bench import pages
from profiledb.console import answer_file, table_list
from profiledb.console.question_process import Answer, ask
from profiledb.errors import AnalysisError, DamagedError
from profiledb.library import team_database
from profiledb.library.catalog import Catalog, Manifest
from profiledb.library.library import Library
from profiledb.library.visitor import Visitor
from profiledb.query import analysis
from profiledb.report import schema
from profiledb.report.derived_files import SUMMARIES
from tests.conftest import ROOT
from tests.support import needs, question_report, series_summaries
from tests.support.postgres import PASSWORD, Server

KINDS = """
SELECT sum(end_ns - start_ns) AS total, 1e20::HUGEINT AS large, [1, 2] AS list, {'a': 1} AS struct, NULL AS nothing,
    'a,"b"' AS text, 'a'::BLOB AS bytes, INTERVAL 1 DAY AS span, 'nan'::DOUBLE AS no_number, true AS yes, 1 AS twice,
    2 AS twice, DATE '2026-01-02' AS day, 'x'::ENUM ('x') AS enumeration, 1.5::DECIMAL(4, 1) AS decimal
FROM kernel
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> tuple[Library, Manifest]:
    return question_report.small(tmp_path_factory.mktemp("asked"))


@pytest.fixture(scope="module")
def kinds(place: tuple[Library, Manifest]) -> Answer:
    return ask(place[0], place[1].id, KINDS, question_report.limits())


def test_every_type_has_a_plain_one(kinds: Answer) -> None:
    row = kinds.rows.to_pylist()[0]
    assert not kinds.cut
    assert row["total"] == 45
    assert isinstance(row["total"], int)
    assert row["large"] == 1e20
    assert (row["list"], row["struct"], row["nothing"]) == ("[1, 2]", '{"a": 1}', None)
    assert (row["bytes"], row["span"], row["twice"], row["twice_2"]) == ("61", "0 months 1 days 0 ns", 1, 2)
    assert (row["enumeration"], row["decimal"], row["yes"]) == ("x", 1.5, True)


def test_an_answer_is_written_in_three_formats(kinds: Answer, tmp_path: Path) -> None:
    names, values = csv.reader(io.StringIO(answer_file.encode_rows(kinds.rows, "csv").decode()))
    told = dict(zip(names, values, strict=True))
    assert (told["total"], told["text"], told["no_number"], told["nothing"]) == ("45", 'a,"b"', "", "")
    (row,) = json.loads(answer_file.encode_rows(kinds.rows, "json"))
    assert (row["total"], row["text"], row["no_number"], row["day"]) == (45, 'a,"b"', None, "2026-01-02")
    (tmp_path / "x.parquet").write_bytes(answer_file.encode_rows(kinds.rows, "parquet"))
    read = duckdb.sql(f"SELECT total, text, span FROM '{tmp_path}/x.parquet'").fetchall()
    assert read == [(45, 'a,"b"', "0 months 1 days 0 ns")]


def test_a_question_sees_views_macros_and_what_lies_beside_the_report(place: tuple[Library, Manifest]) -> None:
    library, report = place
    library.put_sidecar(report.id, "meta", '{"batch": 32}')
    library.put_sidecar(report.id, "timings", "label,step,seconds\nstep,0,0.5\n")
    asking = """
        SELECT (SELECT max(duration_ns) FROM selected_named_kernel WHERE short = 'add') AS longest,
            (SELECT value FROM meta_fact(['batch'])) AS batch, (SELECT seconds FROM timing) AS seconds
    """
    assert ask(library, report.id, asking, question_report.limits()).rows.to_pylist() == [
        {"longest": 30, "batch": "32", "seconds": 0.5}
    ]
    shown = ask(library, report.id, "DESCRIBE kernel", question_report.limits()).rows["column_name"].to_pylist()
    assert shown[:2] == ["kernel_id", "start_ns"]


@pytest.mark.slow("a process for each question")
def test_a_question_sees_the_summaries_of_all_reports(place: tuple[Library, Manifest]) -> None:
    library, report = place
    asking = "SELECT name, value FROM library_summary JOIN library_measure USING (report_id, name) ORDER BY ALL"
    assert ask(library, report.id, asking, question_report.limits()).rows.num_rows == 0, "nothing was summarized yet"
    (library.folder / SUMMARIES).parent.mkdir(exist_ok=True)
    with closing(sqlite3.connect(library.folder / SUMMARIES)) as db, db:
        db.executescript(schema.read_sql("summaries.sql", "profiledb.studies.trends"))
        texts = "x", 1, "", "one", "nsys", "", 1, "", "", "", "", "", "", "", "{}"
        db.execute(f"INSERT INTO summary VALUES ({', '.join('?' * len(texts))})", texts)
        db.execute("INSERT INTO measure VALUES ('x', 'wall_ns', 'one', 1.5, NULL, NULL, NULL)")
    assert ask(library, report.id, asking, question_report.limits()).rows.to_pylist() == [{"name": "one", "value": 1.5}]


@pytest.fixture
def guarded() -> Iterator[Server]:
    """A database that asks for its password."""
    needs.require("PostgreSQL")
    server = Server(port=pages.find_free_port())
    yield server
    server.remove()


@pytest.mark.slow("a database of its own, and a process for each question")
def test_a_question_reads_the_summaries_of_a_team(
    guarded: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, report = question_report.small(tmp_path / "made")
    monkeypatch.delenv("PGPASSWORD", raising=False)
    (tmp_path / "password").write_text(PASSWORD)
    monkeypatch.setenv("PGPASSWORD_FILE", str(tmp_path / "password"))
    shared = team_database.open_database(guarded.create().replace(f":{PASSWORD}@", "@"))
    library = Library(made.folder, Catalog(shared))
    library.catalog.add_report(report)
    series_summaries.put(library, series_summaries.facts(1), series_summaries.rows(1e6, {"gemm": 1e5}))
    asking = "SELECT name FROM library_summary"
    assert ask(library, report.id, asking, question_report.limits()).rows.to_pylist() == [{"name": "train_1.nsys-rep"}]
    guarded.stop()
    with pytest.raises(AnalysisError, match="summaries of all reports cannot be read"):
        ask(library, report.id, asking, question_report.limits())
    assert ask(library, report.id, "SELECT count(*) AS n FROM kernel", question_report.limits()).rows.num_rows == 1


LATE = "SELECT 1 // 0, ('x' || range)::INT FROM range(100000) WHERE range > 90000"
MORE = pytest.mark.slow("a process for each question")


@pytest.mark.parametrize(
    ("asking", "said"),
    [
        pytest.param("SELECT nothing FROM kernel", 'column "nothing" not found', marks=MORE),
        (LATE, "Could not convert"),
        pytest.param("SELECT '\ud800'", "does not accept", marks=MORE),
    ],
    ids=["before it runs", "while it runs", "no text"],
)
def test_what_cannot_be_understood_is_said_in_the_words_of_the_database(
    place: tuple[Library, Manifest], asking: str, said: str
) -> None:
    with pytest.raises(AnalysisError, match=said):
        ask(place[0], place[1].id, asking, question_report.limits())


@pytest.mark.slow("a process for one more detail")
def test_whole_numbers_stay_whole_beside_missing_ones(place: tuple[Library, Manifest]) -> None:
    asking = "SELECT unnest([1, NULL, 9007199254740993]) AS n"
    rows = ask(place[0], place[1].id, asking, question_report.limits()).rows
    assert answer_file.encode_rows(rows, "csv") == b'n\n1\n""\n9007199254740993\n'
    assert analysis.convert_frame(rows)["n"].tolist()[2] == 9007199254740993


def test_a_damaged_report_says_so(tmp_path: Path) -> None:
    library, report = question_report.small(tmp_path)
    library.path(report.id).write_bytes(b"no database" * 1000)
    with pytest.raises(DamagedError):
        ask(library, report.id, "SELECT 1", question_report.limits())


@pytest.mark.skipif(not (ROOT / "sample_reports").is_dir(), reason="no samples here")
def test_every_example_answers_a_sample(sample_data: Path) -> None:
    """They run in this process, because the examples are our own."""
    samples = Library(sample_data / "library")
    answered = set()
    for report in sorted(samples.list(), key=lambda one: -sum(one.rows.values())):
        for example in table_list.list_examples(report):
            if example.title not in answered and not analysis.query(samples, report.id, example.sql).empty:
                answered.add(example.title)
    assert len(answered) == len(table_list._load_examples()) - len(table_list.list_library_examples()) == 8


def test_the_views_that_are_listed_are_there(place: tuple[Library, Manifest]) -> None:
    library, report = place
    found = analysis.query(library, report.id, "SELECT view_name FROM duckdb_views() WHERE NOT internal")
    assert {view.name for view in table_list.list_views()} <= set(found["view_name"])
    assert all(len(view.comment) > 20 for view in table_list.list_views())


def test_a_question_sees_no_summary_of_a_report_that_its_asker_may_not_see(tmp_path: Path) -> None:
    library, report = question_report.small(tmp_path)
    hidden = replace(report, id="b" * 16, name="secret.nsys-rep", space="kernels")
    library.catalog.add_report(hidden)
    library.catalog.spaces.put("kernels", ["kernel-team"])
    (library.folder / SUMMARIES).parent.mkdir(exist_ok=True)
    with closing(sqlite3.connect(library.folder / SUMMARIES)) as db, db:
        db.executescript(schema.read_sql("summaries.sql", "profiledb.studies.trends"))
        for one in (report, hidden):
            texts = one.id, 1, "", one.name, "nsys", "", 1, "", "", "", "", "", "", "", "{}"
            db.execute(f"INSERT INTO summary VALUES ({', '.join('?' * len(texts))})", texts)
            db.execute("INSERT INTO measure VALUES (?, 'kernel_ns', '', 1.5, NULL, NULL, NULL)", [one.id])
    (slowest, figures) = table_list.list_library_examples()
    for groups, names in (({"kernel-team"}, {report.name, hidden.name}), ({"others"}, {report.name})):
        visible = library.asked_by(Visitor("Ann", "login", frozenset(groups)))
        rows = ask(visible, report.id, slowest.sql, question_report.limits()).rows.to_pylist()
        assert {row["name"] for row in rows} == names
        (row,) = ask(visible, report.id, figures.sql, question_report.limits()).rows.to_pylist()
        assert (row["measure"], row["reports"]) == ("kernel_ns", len(names))
