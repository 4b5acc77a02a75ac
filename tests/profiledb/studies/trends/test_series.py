"""Series: their members, people's decisions, summaries, and changes with the kernels behind them."""

import gzip
import json
import sqlite3
import sys
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from random import Random
from unittest.mock import Mock

import numpy as np
import pytest

from profiledb.errors import AnalysisError, CatalogError, ConfigError
from profiledb.library.catalog import Catalog
from profiledb.library.library import Library
from profiledb.library.series_decisions import LEFT_OUT, Note
from profiledb.library.visitor import Visitor
from profiledb.report.derived_files import SUMMARIES
from profiledb.rules import series as rules
from profiledb.studies.trends import change_points, explanation, series, series_changes, summary_refresh
from profiledb.studies.trends.series_board import Board
from profiledb.studies.trends.series_changes import Trend
from profiledb.studies.trends.series_lines import LISTED, RECENT
from profiledb.studies.trends.summary_store import Facts, Row, Summaries
from profiledb.studies.trends.team_summary_store import open_summaries
from tests.support import series_summaries
from tests.support.every_report import slow_but

SERIES = "train · nsys · NVIDIA H200"
SLOW = 21
"""Report from which on one kernel takes longer."""


@pytest.fixture
def library(catalog: Catalog, tmp_path: Path) -> Library:
    """A library of a folder, and of a team."""
    return Library(tmp_path / "library", catalog)


def filled(library: Library, count: int = 40, slow: int = SLOW) -> Library:
    random = np.random.default_rng(4)
    for number in range(1, count + 1):
        gemm = 5e6 * float(random.normal(1, 0.01))
        softmax = (2e6 if number >= slow else 1e6) * float(random.normal(1, 0.01))
        figures = series_summaries.rows(gemm + softmax + 3e6, {"gemm": gemm, "softmax": softmax})
        series_summaries.put(library, series_summaries.facts(number), figures)
    return library


def test_the_same_program_on_the_same_gpu_is_a_series(library: Library) -> None:
    changes: tuple[dict[str, object], ...] = (
        {},
        {"gpu": "NVIDIA A100"},
        {"meta": {"series": "nightly"}},
        {"meta": {}, "command": "/opt/bin/python train.py --output /tmp/run1 --seed=3"},
        {"meta": {}, "command": "/usr/bin/python train.py --output /tmp/run2 --seed=4"},
        {"meta": {}, "command": None, "name": "train-2026-03-04.nsys-rep"},
        {"meta": {}, "command": None, "name": "train-2026-03-05.nsys-rep"},
        {"meta": {"workload": "train", "options.mode": "inference"}},
    )
    known = {number: series_summaries.facts(number, **changed) for number, changed in enumerate(changes, 1)}
    for one in known.values():
        series_summaries.put(library, one, series_summaries.rows(1e6, {"k": 1e5}))
    library.catalog.set_labels(known[8].report_id, ["series=by label"])
    found = series_summaries.all_series(Board(library))
    assert {name: [int(point.id, 16) for point in one.points] for name, one in found.items()} == {
        SERIES: [1, 6, 7],
        "train · nsys · NVIDIA A100": [2],
        "nightly · nsys · NVIDIA H200": [3],
        "python train.py · nsys · NVIDIA H200": [4, 5],
        "by label · mode inference · nsys · NVIDIA H200": [8],
    }


def test_commit_and_date_order_the_points(library: Library) -> None:
    late = series_summaries.facts(
        1, meta={"workload": "train", "GITHUB_SHA": "beef" * 10, "commit_date": "2027-01-01T10:00:00+02:00"}
    )
    series_summaries.put(library, late, series_summaries.rows(1e6, {}))
    odd = series_summaries.facts(2, meta={"workload": "train", "commit": "<b>x</b> `", "commit_date": "9999-99-99"})
    series_summaries.put(library, odd, series_summaries.rows(1e6, {}))
    (one,) = series_summaries.all_series(Board(library)).values()
    assert [point.id for point in one.points] == [odd.report_id, late.report_id]
    assert (one.points[0].commit, one.points[1].commit) == (None, "beef" * 10), "what is no commit is none"
    assert one.points[1].at.isoformat() == "2027-01-01T08:00:00+00:00"


def test_people_move_a_report_and_leave_one_out(library: Library) -> None:
    filled(library, 3)
    decided = library.catalog.decisions
    decided.choose(f"{1:016x}", "  mine\nis\x1b[31m  ")
    decided.choose(f"{2:016x}", LEFT_OUT)
    found = series_summaries.all_series(Board(library))
    assert {name: [int(point.id, 16) for point in one.points] for name, one in found.items()} == {
        "mine is [31m": [1],
        SERIES: [3],
    }
    assert Board(library).find("mine").points[0].moved
    assert Board(library).find(found[SERIES].key).name == SERIES
    with pytest.raises(AnalysisError, match="No series"):
        Board(library).find("other")
    decided.choose(f"{1:016x}", None)
    decided.choose(f"{2:016x}", None)
    assert len(Board(library).find(SERIES).points) == 3
    library.catalog.remove_report(f"{1:016x}")
    assert f"{1:016x}" not in decided.choices()
    assert len(Board(library).find(SERIES).points) == 2, "a summary of what is not listed counts for nothing"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("program = 3", "program is not a list of texts"),
        ("programs = []", "'programs' is no rule"),
        ("apart = ['color']", "'color' is no fact"),
        ("ignore = ['(']", "is not a regular expression"),
        ("program = [", "cannot be read"),
    ],
)
def test_wrong_rules_say_what_is_wrong(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "own.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=said):
        rules.load(path)


def test_own_rules_change_what_belongs_together(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own.toml").write_text("program = ['name']\napart = []")
    monkeypatch.setenv("WARPDECK_SERIES", str(tmp_path / "own.toml"))
    filled(library, 2)
    assert Board(library).names == ["train"]


def trend_of(board: Board) -> Trend:
    """The measure of the only line, over all reports of its series."""
    (line,) = board.listed
    trend = board.one(board.find(line.series), line.measure.name)
    assert trend
    return trend


def test_a_change_is_found_where_it_is_and_made_up_of_its_kernel(library: Library) -> None:
    board = Board(filled(library))
    trend = trend_of(board)
    (shift,) = trend.shifts
    assert int(shift.point.id, 16) == SLOW
    assert shift.kind == "regression"
    assert shift.change.share == pytest.approx(1 / 9, abs=0.02)
    told = board.explained(shift.before, shift.point)
    assert told
    assert sum(part.change for part in told.work) == pytest.approx(told.wall.change)
    assert told.kernels
    for parts in told.by.values():
        assert sum(part.change for part in parts) == pytest.approx(told.kernels.change)
    assert told.by["kernel"][0].title == "softmax"
    assert Board(library).listed == board.listed, "as kept"
    assert trend.level == tuple(range(SLOW - 1, 40))


def test_a_change_of_the_driver_is_no_regression(library: Library) -> None:
    filled(library)
    kept = open_summaries(library)
    every = kept.of([f"{n:016x}" for n in range(SLOW, 41)])
    for number in range(SLOW, 41):
        series_summaries.put(library, series_summaries.facts(number, driver="590.2"), every[f"{number:016x}"])
    (line,) = Board(library).listed
    assert line.change
    assert line.change.around == ("driver: 580.1 → 590.2",)
    (shift,) = trend_of(Board(library)).shifts
    assert (shift.kind, shift.around) == ("surroundings", ("driver: 580.1 → 590.2",))


def test_what_people_say_of_a_change_stays(library: Library) -> None:
    filled(library)
    decided = library.catalog.decisions
    first = f"{SLOW:016x}"
    decided.write_note(first, "wall_ns", Note("dismissed", " noise\n\x1b" + 900 * "x"))
    board = Board(library)
    trend = board.one(board.find(SERIES))
    assert trend
    (note,) = [shift.note for shift in trend.shifts]
    assert note
    assert (note.state, len(note.note), note.note[:7]) == ("dismissed", 500, "noise x")
    assert trend.level == tuple(range(40)), "the levels on both sides are one"
    with pytest.raises(AnalysisError, match="cannot be"):
        decided.write_note(first, "wall_ns", Note("gone", ""))  # type: ignore[arg-type]
    decided.write_note(first, "wall_ns", Note("open", ""))
    assert decided.notes() == {}


def require_as_made_anew(board: Board, library: Library) -> None:
    """Compare a board with all series and changes made of all summaries, without anything that is kept of series."""
    store, catalog = open_summaries(library), library.catalog
    seen = set(catalog.report_ids())
    facts = {key: one for key, one in store.facts().items() if key in seen}
    built = series.build_series(
        facts, rules.read_current(), catalog.listing.labels_with_values(), catalog.decisions.choices()
    )
    assert series_summaries.all_series(board) == built
    assert board.names == list(built)
    assert board.names_by_report() == {point.id: name for name, one in built.items() for point in one.points}
    lines = {(line.series, line.measure.name): line for every in board._lines.values() for line in every}
    trends = {
        (trend.series.name, measure): trend
        for measure in LISTED
        for trend in series_changes.find_trends(store, built.values(), measure, store.values(measure), {})
    }
    assert lines.keys() == trends.keys()
    for key, trend in trends.items():
        line, last = lines[key], trend.shifts[-1] if trend.shifts else None
        assert (line.reports, line.first, line.last) == (len(trend.points), trend.points[0].at, trend.points[-1].at)
        assert (list(line.recent), line.drifts) == (trend.values[-RECENT:], trend.drifts)
        told = (line.change.report_id, line.change.kind, line.change.share) if line.change else None
        assert told == ((last.point.id, last.kind, last.change.share) if last else None)


@pytest.mark.parametrize("steps", slow_but([16], [16, 40], "a walk through forty changes"))
def test_what_is_kept_of_series_is_what_is_made_anew(library: Library, steps: int) -> None:
    """After any addition, change, removal or decision; only the series concerned are made again."""
    random, decided = Random(7), library.catalog.decisions
    filled(library, 24, slow=13)
    board = Board(library)
    assert board.listed
    number, noted = 100, 0

    def put(one: int) -> None:
        workload = random.choice(["train", "serve", "tune"])
        meta = {"workload": workload, "commit_date": f"2026-04-{1 + one % 28:02}"}
        series_summaries.put(
            library,
            series_summaries.facts(one, meta=meta),
            series_summaries.rows(9e6 * random.uniform(1, 1.2), {"gemm": 5e6}),
        )

    for step in range(steps):
        one = random.choice([report.id for report in library.list()])
        what = ("add", "change", "remove", "label", "move", "leave out", "note", "nothing")[step % 8]
        if what == "add":
            number += 1
            put(number)
        elif what == "change":
            put(int(one, 16))
        elif what == "remove":
            library.catalog.remove_report(one)
        elif what == "label":
            library.catalog.set_labels(one, random.choice([["series=own"], ["plain"], []]))
        elif what in ("move", "leave out"):
            decided.choose(one, random.choice([None, "elsewhere"]) if what == "move" else LEFT_OUT)
        elif what == "note":
            changes = [line.change for line in board.listed if line.change]
            decided.write_note(changes[0].report_id if changes else one, "wall_ns", Note("accepted", str(step)))
        before, board = board._lines, Board(library, board)
        require_as_made_anew(board, library)
        assert board.listed == Board(library).listed, what
        noted += any(line.change and line.change.note for line in board.listed)
        assert len(board._lines.keys() - before.keys()) <= (0 if what in ("note", "nothing") else 2), what
    assert noted
    open_summaries(library).forget([report.id for report in library.list()])
    assert Board(library, board).names == []


def test_members_are_made_anew_where_the_log_of_changes_or_the_rules_do_not_tell(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(library, 3)
    assert Board(library).names == [SERIES]
    with open_summaries(library).open_for_writing() as db:
        db.execute("DELETE FROM series_member WHERE report_id = ?", [f"{1:016x}"])
        db.execute("UPDATE series_state SET number = 99")
        db.execute("UPDATE series_line SET lines = '[3]'")
    require_as_made_anew(Board(library), library)
    (tmp_path / "own.toml").write_text("program = ['name']\napart = []")
    monkeypatch.setenv("WARPDECK_SERIES", str(tmp_path / "own.toml"))
    require_as_made_anew(Board(library), library)


def test_where_nothing_can_be_written_series_are_as_they_were(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Board(filled(library, 3)).names == [SERIES]
    library.catalog.decisions.choose(f"{1:016x}", "mine")
    full = Mock(side_effect=CatalogError("The disk is full."))
    monkeypatch.setattr(type(open_summaries(library)), "open_for_writing", full)
    assert Board(library).names == [SERIES]
    assert full.called
    monkeypatch.undo()
    assert Board(library).names == ["mine", SERIES]


def test_of_a_long_series_a_line_has_the_last_figures(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_points, "MOST", 30)
    filled(library)
    board = Board(library)
    (line,) = board.listed
    assert (line.reports, line.first.date().isoformat(), len(line.recent)) == (40, "2026-03-02", 30)
    assert line.change
    assert int(line.change.report_id, 16) == SLOW
    assert trend_of(board).shifts[-1].change.share == line.change.share


def test_a_hidden_report_joins_no_series_of_a_board_made_from_the_one_before(library: Library) -> None:
    otto = library.asked_by(Visitor("Otto", "login", frozenset({"all"})))
    filled(library, 3)
    board = Board(otto)
    assert board.listed
    hidden = series_summaries.facts(4)
    library.catalog.add_report(replace(library.list()[0], id=hidden.report_id, space="kernels"))
    open_summaries(library).put(hidden, "x", series_summaries.rows(1e6, {"k": 1e5}))
    board = Board(otto, board)
    assert len(board.find(SERIES).points) == 3
    assert board.listed[0].reports == 3
    require_as_made_anew(board, otto)
    library.catalog.spaces.put("kernels", ["all"])
    assert Board(otto, board).listed[0].reports == 4


def test_a_damaged_file_is_set_aside(empty_library: Library) -> None:
    library = filled(empty_library, 3)
    kept = Summaries(library.folder)
    for content in (b"no database" * 500, None):
        if content:
            for path in library.folder.glob(f"{SUMMARIES}*"):
                path.unlink()
            kept.path.write_bytes(content)
        else:
            with sqlite3.connect(kept.path) as db:
                db.execute("DROP TABLE measure")
        assert kept.values("wall_ns") == {}
        assert not kept.path.exists(), "the worker makes a new one where there is none"
        assert len(list(library.derived.answers.parent.glob("summaries.damaged-*.sqlite"))) == 1
        kept.put(series_summaries.facts(1), "x", series_summaries.rows(1e6, {}))
        assert list(kept.values("wall_ns")) == [f"{1:016x}"]


def test_a_file_of_an_earlier_version_gets_its_new_tables(empty_library: Library) -> None:
    assert Board(filled(empty_library, 3)).listed
    with sqlite3.connect(Summaries(empty_library.folder).path) as db:
        for table in ("series_member", "series_line", "series_state", "summary_change"):
            db.execute(f"DROP TABLE {table}")
    require_as_made_anew(Board(empty_library), empty_library)


def test_summaries_of_another_version_are_made_again(empty_library: Library) -> None:
    library = filled(empty_library, 2)
    kept = Summaries(library.folder)
    with sqlite3.connect(kept.path) as db:
        db.execute("UPDATE summary SET version = 0 WHERE report_id = ?", [f"{1:016x}"])
    assert list(kept.facts()) == [f"{2:016x}"]
    assert Board(library).waiting == 1, "the other one counts as being summarized"
    library.catalog.remove_report(f"{2:016x}")
    summary_refresh.refresh(library)  # the other one has no file: it cannot be made
    assert set(kept.stamps()) == {f"{1:016x}"}
    assert not kept.of([f"{2:016x}"])[f"{2:016x}"]


def _write_many(folder: str, begin: int) -> None:
    kept = Summaries(Path(folder))
    for number in range(begin, begin + 40):
        kept.put(series_summaries.facts(number), "x", series_summaries.rows(1e6, {"k": 1e5}))


@pytest.mark.slow("several processes that import all of ours")
def test_several_processes_write_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # AppTest, where it ran before in this process, leaves a script in its place, which every new process would run.
    monkeypatch.delattr(sys.modules["__main__"], "__file__", raising=False)
    context = get_context("spawn")
    writers = [context.Process(target=_write_many, args=(str(tmp_path), 1000 * n)) for n in (1, 2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
        assert writer.exitcode == 0
    assert len(Summaries(tmp_path).values("wall_ns")) == 80
    assert not list(tmp_path.rglob("summaries.damaged-*"))


def test_hostile_values_do_nothing(empty_library: Library) -> None:
    nasty = "'; DROP TABLE measure; --<script>\x1b"
    one = series_summaries.facts(1, meta={"workload": nasty, "commit": nasty})
    series_summaries.put(empty_library, one, [*series_summaries.rows(1e6, {}), Row("kernel", 1.0, nasty, title=nasty)])
    (found,) = series_summaries.all_series(Board(empty_library)).values()
    assert "\x1b" not in found.name
    kept = Summaries(empty_library.folder)
    with sqlite3.connect(kept.path) as db:
        db.execute("UPDATE summary SET meta = '[1, 2]'")
        db.execute("INSERT INTO detected VALUES ('k', '{\"changes\": 3}')")
    assert dict(kept.facts()[one.report_id].meta) == {}
    assert json.loads(kept.detected(["k"])["k"])
    assert replace(one, meta={}) == kept.facts()[one.report_id]


def test_attention_that_is_no_longer_fused_is_found_and_explained(empty_library: Library) -> None:
    """Summaries of 24 captures of a training on an H100; from the 13th on, fused attention was off.

    The host scatters so much there that step time shows nothing; the GPU's time does.
    """
    told = json.loads(gzip.decompress(Path(__file__).with_name("attention_switched_off.json.gz").read_bytes()))
    for report in told["reports"]:
        named = [(told["kernels"][at], ns) for at, ns in report["kernels"]]
        kernels = [Row("kernel", ns, name, title=title) for (name, title), ns in named]
        rows = [Row(measure, value, name, low, high) for measure, value, name, low, high in report["rows"]]
        of = Facts(**{key: value for key, value in report.items() if key not in ("rows", "kernels")})
        series_summaries.put(empty_library, of, rows + kernels)
    board = Board(empty_library)
    trend = trend_of(board)
    (shift,) = trend.shifts
    assert trend.measure.name == "kernel_ns", "step time alone tells nothing"
    assert (shift.point.facts.name, shift.before.facts.name) == ("train_13.sqlite", "train_12.sqlite")
    assert shift.kind == "regression"
    assert shift.change.share == pytest.approx(0.75, abs=0.03)
    found = board.explained(*explanation.level_reports(trend, shift.change.index))
    assert found
    assert found.kernels
    assert sum(part.change for part in found.by["kernel"]) == pytest.approx(found.kernels.change)
    parts = {part.title: part for part in found.by["kernel"]}
    gone = [title for title, part in parts.items() if part.before and not part.after]
    new = [title for title, part in parts.items() if part.after and not part.before]
    assert any("flash" in title for title in gone), "the fused kernel is gone"
    assert any("softmax" in title for title in new), "and its parts are there"
    classes = {part.title: part.change for part in found.by["class"]}
    assert classes["attention"] < 0 < classes["softmax"]
