"""Analyses with shared rows give the same answers on one cursor as each alone."""

import itertools
import re
from typing import Any

import pytest

from profiledb.errors import AnalysisError, NotCapturedError
from profiledb.findings import rulebook
from profiledb.library.library import Library
from profiledb.query import analysis, captures, header, shared_rows
from profiledb.selection.model import Selection
from tests.support.every_report import slow_but

TRAINING = "transformer_training.nsys-rep"
SELECTIONS: tuple[dict[str, Any], ...] = (
    {}, {"warmup": "exclude"}, {"within": "steps", "warmup": "exclude"}, {"from_ns": 1_000_000, "to_ns": 60_000_000},
)  # fmt: skip
SHARING = [one.name for one in header.list_analyses().values() if one.once and one.by_part]


def of_all(library: Library, name: str, selection: dict[str, Any]) -> dict[str, Any]:
    """The answers of all analyses that share rows; missing data is an error."""
    report_id = library.find(name).id
    found: dict[str, Any] = {}
    for one in SHARING:
        try:
            found[one] = analysis.run(library, report_id, one, selection)
        except NotCapturedError as error:
            found[one] = error.message
    return found


@pytest.mark.parametrize(
    "case",
    slow_but(
        [(TRAINING, SELECTIONS[1])],
        itertools.product((TRAINING, "host_python.nsys-rep"), SELECTIONS),
        "50 analyses, each twice, of every selection",
    ),
    ids=str,
)
def test_each_answer_is_what_it_is_alone(
    nsys_samples: Library, case: tuple[str, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    name, selection = case
    found = of_all(nsys_samples, name, selection)
    monkeypatch.setattr(shared_rows, "fit", lambda *_: False)
    for one, alone in of_all(nsys_samples, name, selection).items():
        assert found[one] == alone if isinstance(alone, str) else found[one].equals(alone), one
        assert len(alone) or "from_ns" in selection or one in ("steady_part", "detected_iterations"), one


def test_rows_are_read_where_they_hold() -> None:
    gaps = header.get("idle_gaps")
    defaults = header.bind(gaps, {})
    assert shared_rows.fit(gaps, defaults, Selection(warmup="exclude"))
    assert shared_rows.fit(gaps, defaults | {"limit": "3"}, Selection())
    assert not shared_rows.fit(gaps, defaults | {"min_ns": "10"}, Selection())
    assert not shared_rows.fit(gaps, defaults, Selection(mode="thread"))


def test_the_rows_are_made_for_the_defaults() -> None:
    """A length of gaps in the SQL of shared rows is the default of the analyses."""
    for name in SHARING:
        texts = "".join(shared_rows.list_files()[one].sql for one in header.get(name).once)
        least = [
            param.default
            for param in header.get(name).params
            if param.name == "min_ns" and "FROM selected_idle(" in texts
        ]
        assert all(f"selected_idle({one}, NULL)" in texts for one in least), name


def test_every_file_of_shared_rows_is_listed() -> None:
    listed = [one.once for one in header.list_analyses().values()]
    listed += [one.once for one in shared_rows.list_files().values()]
    listed += [rule.analysis.once for rule in rulebook.load().values()]
    assert {name for once in listed for name in once} == set(shared_rows.list_files())


def test_rows_are_made_once(library: Library, gaps: str) -> None:
    opened = (library, gaps, Selection())
    asked = header.get("idle_gaps")
    with shared_rows.opened(*opened, asked.includes) as part:
        part.prepare(asked)
        part.cursor.execute("DELETE FROM once_idle")
    with shared_rows.opened(*opened, asked.includes) as part:
        part.prepare(asked)
        assert part.cursor.execute("SELECT count(*) FROM once_idle").fetchone() == (0,), "the same cursor"
    library._attached.close(gaps)
    assert len(analysis.run(library, gaps, "idle_gaps")), "a report that was closed is opened anew"


def test_every_file_that_is_listed_makes_its_rows(library: Library, gaps: str) -> None:
    """No other name on the cursor stands in for them."""
    for name in ("kernels", "idle_gaps"):
        with shared_rows.opened(library, gaps, Selection(), header.get(name).includes) as part:
            part.prepare(header.get(name))
            rows = part.cursor.execute("SELECT table_name FROM duckdb_tables() WHERE temporary").fetchall()
            made = {table for (table,) in rows}
        for one in header.get(name).once:
            assert made.issuperset(re.findall(r"TEMP TABLE (\w+)", shared_rows.list_files()[one].sql)), one
    library._attached.close(gaps)


def test_rows_of_a_table_without_rows_are_not_made(library: Library, gaps: str) -> None:
    asked = rulebook.load()["exposed_communication"].analysis
    assert shared_rows.list_files()["messages"].of == "finding_communication"
    with shared_rows.opened(library, gaps, Selection(), asked.includes) as part:
        part.prepare(asked)
        assert not captures.has_rows(part.cursor, "finding_communication")
        rows = part.cursor.execute("SELECT table_name FROM duckdb_tables() WHERE temporary").fetchall()
    assert ("once_communication",) in rows
    assert ("once_nccl_message",) not in rows
    library._attached.close(gaps)


def test_rows_of_the_whole_report_are_read_once_for_all_parts(nsys_samples: Library) -> None:
    asked, report = header.get("program"), nsys_samples.find("transformer_training.nsys-rep").id

    def read(selection: Selection, before: str = "") -> list[Any]:
        with shared_rows.opened(nsys_samples, report, selection, asked.includes) as part:
            part.cursor.execute(before or "SELECT 1")
            part.prepare(asked)
            return part.cursor.execute("FROM program_sign").fetchall()

    nsys_samples._attached.close(report)
    hidden = "CREATE TEMP VIEW program_sign AS SELECT 'source', 'name', 'trait' WHERE false"
    first = read(Selection())
    assert first
    assert read(Selection(warmup="exclude"), hidden) == first
    nsys_samples._attached.close(report)
    assert read(Selection(warmup="exclude"), hidden) == [], "of a report that is opened anew nothing is known"
    nsys_samples._attached.close(report)


@pytest.mark.parametrize(
    ("name", "read"),
    [("transformer_training.nsys-rep", "no_iteration"), ("attention.nsys-rep", "unnamed_iteration")],
)
def test_iterations_of_kernels_are_looked_for_where_ranges_tell_no_steps(
    nsys_samples: Library, name: str, read: str
) -> None:
    asked = header.get("steady_part")
    with shared_rows.opened(nsys_samples, nsys_samples.find(name).id, Selection(), asked.includes) as part:
        part.prepare(asked)
        assert part.cursor.execute("SELECT getvariable('unnamed')").fetchone() == (read,)
        assert captures.has_rows(part.cursor, "finding_step") == (read == "no_iteration")
        made = part.cursor.execute("SELECT 1 FROM duckdb_tables() WHERE table_name = 'once_iteration_start'").fetchall()
        assert bool(made) == (read == "unnamed_iteration")
    nsys_samples._attached.close(nsys_samples.find(name).id)


def test_two_at_once_have_a_cursor_each(library: Library, gaps: str) -> None:
    opened = (library, gaps, Selection())
    with shared_rows.opened(*opened, ()) as one, shared_rows.opened(*opened, ()) as other:
        assert one.cursor is not other.cursor


def test_what_a_report_lacks_leaves_the_cursor_good(library: Library, gaps: str) -> None:
    for _ in range(2):
        with pytest.raises(NotCapturedError, match="No CPU samples"):
            analysis.run(library, gaps, "idle_code")
        assert len(analysis.run(library, gaps, "idle_reasons"))


def test_a_range_that_is_not_there_is_said(library: Library, gaps: str) -> None:
    for _ in range(2):
        with pytest.raises(AnalysisError, match="nowhere"):
            analysis.run(library, gaps, "idle_reasons", {"range": "nowhere"})
