"""Retention removes files by its rules, with real files, a real worker, and the clock as an argument."""

import shutil
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from profiledb import config
from profiledb.access.cli import main as cli
from profiledb.config import Settings
from profiledb.errors import ConfigError
from profiledb.library.catalog import Catalog, Job, Manifest
from profiledb.library.library import Library
from profiledb.library.locations import open_inbox
from profiledb.library.series_decisions import Note
from profiledb.library.visitor import Visitor
from profiledb.rules import retention as rules
from profiledb.rules.retention import Rule, Rules
from profiledb.studies import retention
from profiledb.studies.trends import gate, summary_refresh
from profiledb.studies.trends.budget import Budget
from profiledb.studies.trends.series_board import Board
from profiledb.studies.trends.team_summary_store import open_summaries
from tests.conftest import ROOT, SAMPLES, run_ingest
from tests.profiledb.library.test_library import publish
from tests.profiledb.studies.trends.test_series import SLOW, filled
from tests.support.dropped_files import made

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return config.load(inbox=tmp_path / "inbox", library=tmp_path / "library", samples="off")


def aged(library: Library, report_id: str, days: float, **fields: object) -> Manifest:
    """A report that was taken in so many days ago."""
    manifest = replace(publish(library, report_id, f"{report_id}.rep"), **fields)  # type: ignore[arg-type]
    manifest = replace(manifest, ingested_at=(NOW - timedelta(days=days)).isoformat(timespec="seconds"))
    library.catalog.add_report(manifest)
    return manifest


def gone(library: Library, settings: Settings, of: Rules, now: datetime = NOW) -> list[tuple[str, str]]:
    """Plan removals, carry them out, and return the planned ones."""
    inbox = open_inbox(settings)
    planned = retention.plan(library, inbox, of, settings, now)
    done = list(retention.carry_out(library, inbox, planned))
    assert done == planned
    return [(one.what, one.name) for one in done]


def test_reports_go_by_age_and_kind_and_labeled_ones_stay(empty_library: Library, settings: Settings) -> None:
    aged(empty_library, "aaaa000000000001", 91)
    aged(empty_library, "aaaa000000000002", 91, kind="ncu")
    aged(empty_library, "aaaa000000000003", 89, kind="ncu")
    aged(empty_library, "aaaa000000000004", 400, kind="ncu", sample=True)
    aged(empty_library, "aaaa000000000005", 400, kind="ncu")
    aged(empty_library, "aaaa000000000006", 400, kind="ncu")
    odd = aged(empty_library, "aaaa000000000007", -5, kind="ncu")
    empty_library.catalog.add_report(replace(odd, id="aaaa000000000008", ingested_at="long ago"))
    empty_library.catalog.set_labels("aaaa000000000005", ["baseline"])
    empty_library.catalog.links.put("aaaa000000000005", "aaaa000000000006")
    assert gone(empty_library, settings, Rules(rules=(Rule(90, kind="ncu"),))) == [("report", "aaaa000000000002.rep")]
    assert {one.id[-1] for one in empty_library.list()} == set("1345678")
    assert not list(empty_library.reports.glob("aaaa000000000002*"))
    assert gone(empty_library, settings, Rules()) == []


def test_the_oldest_go_above_a_size(empty_library: Library, settings: Settings) -> None:
    for number in range(4):
        aged(empty_library, f"aaaa00000000000{number}", 10 - number)
    empty_library.catalog.set_labels("aaaa000000000000", ["kept"])
    one = (
        empty_library.path("aaaa000000000000").stat().st_size
        + empty_library.manifest_path("aaaa000000000000").stat().st_size
    )
    assert gone(empty_library, settings, Rules(total_gb=2.5 * one / 1e9)) == [
        ("report", "aaaa000000000001.rep"),
        ("report", "aaaa000000000002.rep"),
    ]
    assert gone(empty_library, settings, Rules(total_gb=1e-9)) == [("report", "aaaa000000000003.rep")]


def test_reports_of_a_series(empty_library: Library, settings: Settings) -> None:
    for number, name in enumerate(("nightly_1.rep", "nightly_2.rep", "other_1.rep")):
        aged(empty_library, f"aaaa00000000000{number}", 10, name=name, rows={"kernel": 1})
    of = Rules(rules=(Rule(1, series="nightly*"),))
    assert gone(empty_library, settings, of) == []  # no summary, no series
    summary_refresh.refresh(empty_library)
    assert gone(empty_library, settings, of) == [("report", "nightly_1.rep"), ("report", "nightly_2.rep")]


def test_reports_of_a_space(empty_library: Library, settings: Settings) -> None:
    for number, space in enumerate(("kernels", "kernels", "", "other")):
        one = aged(empty_library, f"aaaa00000000000{number}", 10, space=space)
        empty_library.catalog.remove_report(one.id)
        empty_library.catalog.add_report(one)
    catalog, of = empty_library.catalog, Rules(rules=(Rule(1, space="kernels"),))
    catalog.put_job(Job("/inbox/@other/copy.rep", "copy.rep", "1", "duplicate", "aaaa000000000001"))
    assert gone(empty_library, settings, of) == [("report", "aaaa000000000000.rep")]


def test_a_label_that_came_meanwhile_keeps_the_report(empty_library: Library, settings: Settings) -> None:
    aged(empty_library, "aaaa000000000001", 91)
    planned = retention.plan(empty_library, open_inbox(settings), Rules(rules=(Rule(90),)), settings, NOW)
    empty_library.catalog.set_labels("aaaa000000000001", ["wait"])
    assert list(retention.carry_out(empty_library, open_inbox(settings), planned)) == []
    assert empty_library.list()


@pytest.mark.slow("starts workers of its own")
def test_uploads_go_and_nothing_comes_back(settings: Settings, tmp_path: Path) -> None:
    inbox = settings.inbox
    inbox.mkdir()
    for ending in (".nsys-rep", ".sqlite"):
        shutil.copy(SAMPLES / f"streams_serial{ending}", inbox)
    (inbox / "opened" / "x").mkdir(parents=True)
    made(inbox / "opened" / "x" / "a.sqlite")
    made(inbox / "deleted.sqlite", end=7)
    (inbox / "bad.nsys-rep").write_bytes(b"no report")
    made(tmp_path / "elsewhere.sqlite", end=9)
    (inbox / "link.sqlite").symlink_to(tmp_path / "elsewhere.sqlite")
    run_ingest(inbox, settings.library, WARPDECK_NSYS="off")
    library = Library(settings.library)
    library.delete(library.find("deleted.sqlite").id)
    ids = {one.id for one in library.list()}
    assert len(ids) == 2  # a link is not followed
    library.catalog.dismiss(str(inbox / "bad.nsys-rep"))
    of, later = Rules(uploads_days=14), datetime.now(UTC) + timedelta(days=15)
    assert gone(library, settings, of, later - timedelta(days=2)) == []
    told = gone(library, settings, of, later)
    names = ("a.sqlite", "deleted.sqlite", "streams_serial.nsys-rep", "streams_serial.sqlite")
    assert sorted(told) == [("upload", name) for name in names]
    assert told.index(("upload", "streams_serial.sqlite")) < told.index(("upload", "streams_serial.nsys-rep"))
    assert sorted(path.name for path in inbox.rglob("*")) == ["bad.nsys-rep", "link.sqlite", "opened"]
    assert (tmp_path / "elsewhere.sqlite").exists()
    run_ingest(inbox, settings.library, WARPDECK_NSYS="off")
    assert {one.id for one in library.list()} == ids
    assert {what for what, _ in gone(library, settings, of, later)} == {"record"}
    run_ingest(inbox, settings.library, WARPDECK_NSYS="off")
    assert {one.id for one in library.list()} == ids


def test_the_command(
    empty_library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    publish(empty_library, "aaaa000000000001", "a\x1b[2J.rep")  # taken in on 2026-01-01
    command = ["retain", "--library", str(empty_library.folder), "--inbox", str(tmp_path / "inbox")]
    assert cli.main(command) == 1
    assert "WARPDECK_RETENTION" in capsys.readouterr().err
    (tmp_path / "rules.toml").write_text("[[rule]]\ndays = 30\n")
    monkeypatch.setenv("WARPDECK_RETENTION", str(tmp_path / "rules.toml"))
    assert cli.main([*command, "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert "report  aaaa000000000001  a [2J.rep  (older than 30 days) from " in said
    assert "1 thing would go" in said
    assert not empty_library.catalog.removals.announced()
    assert cli.main(command) == 0
    said = capsys.readouterr().out
    assert "0 things removed" in said
    assert "1 thing announced" in said
    assert empty_library.list()
    assert cli.main([*command, "--now"]) == 0
    said = capsys.readouterr().out
    assert "1 thing removed" in said
    assert "announced" not in said
    assert not empty_library.list()
    assert not empty_library.catalog.removals.announced()


def test_a_team_has_rules_where_it_sets_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert rules.read_current(config.load()) is None
    monkeypatch.setenv("WARPDECK_DATABASE", "postgresql://db/warpdeck")
    assert rules.read_current(config.load()) == rules.DEFAULT
    assert rules.DEFAULT.words == ["reports older than 30 days"]
    monkeypatch.setenv("WARPDECK_RETENTION", "off")
    assert rules.read_current(config.load()) is None


def due_at(library: Library, settings: Settings, now: datetime, days: float = 30) -> list[str]:
    """Announce removals, and return the names of those that are due."""
    due, _ = retention.announce(library, open_inbox(settings), Rules(rules=(Rule(days),)), settings, now)
    return [one.name for one in due]


def test_nothing_goes_before_it_was_announced_for_days(catalog: Catalog, settings: Settings) -> None:
    library = Library(settings.library, catalog)
    for number, age in enumerate((40, 28, 26.5, 40)):
        aged(library, f"aaaa00000000000{number}", age)
    hours = [NOW + timedelta(hours=hour) for hour in range(0, 72, 6)]
    assert [name for now in hours for name in due_at(library, settings, now)] == []
    assert {one.thing[-1] for one in library.catalog.removals.announced()} == set("0123")
    library.catalog.set_labels("aaaa000000000003", ["pinned"])
    assert due_at(library, settings, NOW + timedelta(days=3)) == [f"aaaa00000000000{number}.rep" for number in (0, 1)]
    assert {one.thing[-1] for one in library.catalog.removals.announced()} == set("012")
    assert library.catalog.removals.count()[0] == 3


def test_after_a_jump_of_the_clock_everything_is_announced_anew(catalog: Catalog, settings: Settings) -> None:
    library = Library(settings.library, catalog)
    aged(library, "aaaa000000000001", 1)
    assert due_at(library, settings, NOW) == []
    year = timedelta(days=365)
    assert due_at(library, settings, NOW + year) == [], "a year ahead"
    assert due_at(library, settings, NOW + year + timedelta(hours=1)) == []
    assert due_at(library, settings, NOW) == [], "and back: the report is a day old again"
    assert library.catalog.removals.announced() == []
    aged(library, "aaaa000000000002", 40)
    assert due_at(library, settings, NOW + timedelta(hours=1)) == []
    assert due_at(library, settings, NOW - year) == []
    assert due_at(library, settings, NOW + timedelta(days=4)) == [], "a pause, during which nobody saw it"
    days = [due_at(library, settings, NOW + timedelta(days=4, hours=hour)) for hour in range(12, 73, 12)]
    assert days == [[]] * 5 + [["aaaa000000000002.rep"]]


def test_series_and_the_gate_go_on_with_the_figures_of_removed_reports(catalog: Catalog, settings: Settings) -> None:
    library = filled(Library(settings.library, catalog))
    new = library.list()[0]
    otto = library.asked_by(Visitor("Otto", "login", frozenset({"all"})))
    library.catalog.spaces.put("kernels", [])
    with library.catalog.transaction() as db:
        db.execute("UPDATE report_space SET space = 'kernels' WHERE report_id = ?", [f"{3:016x}"])
    library.catalog.decisions.write_note(f"{SLOW:016x}", "wall_ns", Note("accepted", "known"))
    library.catalog.set_labels(f"{30:016x}", ["release-1"])

    def told(whose: Library = library) -> tuple[object, ...]:
        one = gate.check_report(library, new, "series", Budget())
        return one.judged, one.drifts, one.before, one.explained, Board(whose).listed, Board(whose).find("train")

    before, seen = told(), told(otto)
    assert Board(otto).listed[0].reports == 39
    planned = retention.plan(library, open_inbox(settings), Rules(rules=(Rule(1),)), settings, NOW)
    planned = [one for one in planned if one.report_id != new.id]
    assert len(list(retention.carry_out(library, open_inbox(settings), planned))) == len(planned) == 38
    assert [one.id for one in library.list()] == [new.id, f"{30:016x}"]
    assert (told(), told(otto)) == (before, seen)
    with open_summaries(library).open_for_writing() as db:
        for table in ("summary", "measure", "series_member", "series_line", "series_state"):
            db.execute(f"DELETE FROM {table} WHERE {'report_id <> ?' if table in ('summary', 'measure') else '? <> 0'}",
                       [new.id if table in ("summary", "measure") else 1])  # fmt: skip
    summary_refresh.refresh(library)
    assert Board(library).listed[0].reports == 39, (
        "what is retired comes back; the labeled report has no file to be asked"
    )
    library.catalog.add_report(replace(new, id=f"{1:016x}"))
    assert f"{1:016x}" not in library.catalog.removals.retired()


@pytest.mark.slow("a command that is killed twice and starts again")
def test_a_process_that_is_killed_leaves_whole_reports_and_the_next_goes_on(
    empty_library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rules.toml").write_text("[[rule]]\ndays = 30\n")
    monkeypatch.setenv("WARPDECK_RETENTION", str(tmp_path / "rules.toml"))
    ids = [f"aaaa{number:012}" for number in range(30)]
    for report_id in ids:
        publish(empty_library, report_id)
    argv = [sys.executable, "-u", "-m", "profiledb", "retain", "--now", "--library", str(empty_library.folder)]
    argv += ["--inbox", str(tmp_path / "inbox")]
    for lines in (1, 7):
        with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
            assert process.stdout
            for _ in range(lines):
                assert process.stdout.readline().startswith("report")
            process.kill()
        library = Library(empty_library.folder)
        library.recover()
        listed = library.catalog.report_ids()
        assert 0 < len(listed) < 30
        assert all(library.is_intact(report_id) for report_id in listed)
        assert {path.name[:16] for path in library.reports.glob("aaaa*")} == set(listed)
    subprocess.run(argv, check=True, cwd=ROOT)
    assert not empty_library.list()
    assert not list(empty_library.reports.glob("aaaa*"))


@pytest.mark.parametrize(
    "text",
    [
        "uploads_day = 3",
        "uploads_days = 0",
        "total_gb = '5'",
        "total_gb = nan",
        "rule = 3",
        "[[rule]]\nkind = 'ncu'",
        "[[rule]]\ndays = 3\nkinds = 'ncu'",
        "[[rule]]\ndays = 3\nkind = ''",
        "[[rule]]\ndays = true",
        "[rule]\ndays = 3",
        "not toml",
    ],
)
def test_a_wrong_rule_removes_nothing(tmp_path: Path, text: str) -> None:
    path = tmp_path / "rules.toml"
    path.write_text(text)
    with pytest.raises(ConfigError):
        rules.load(path)


def test_rules_are_read(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_text('uploads_days = 14\ntotal_gb = 500\n[[rule]]\ndays = 90\nkind = "ncu"\nseries = "nightly*"\n')
    assert rules.load(path) == Rules(14.0, 500.0, (Rule(90.0, "ncu", "nightly*"),))
    with pytest.raises(ConfigError, match="cannot be read"):
        rules.load(tmp_path / "none.toml")
