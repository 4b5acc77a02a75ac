"""The audit records every change with its author, in the same transaction, and outlives the report."""

import argparse
import csv
import io
import itertools
import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from unittest.mock import Mock

import pytest

from profiledb.access.cli import audit as command
from profiledb.access.cli.main import main
from profiledb.errors import AnalysisError
from profiledb.library import audit as audits
from profiledb.library import marks
from profiledb.library.catalog import Catalog, Job, Manifest
from profiledb.library.marks import Mark
from profiledb.library.series_decisions import Note
from profiledb.library.visitor import Visitor
from profiledb.report.sidecar import Columns

EDITH = Visitor("Edith, e@example.com", "login")
REPORT = Manifest("0123456789abcdef", 5, "train.nsys-rep", "nsys", "0" * 64, 1, ingested_at="2026-01-01T00:00:00+00:00")


@pytest.fixture(name="catalog")
def make_catalog(catalog: Catalog) -> Catalog:
    catalog.add_report(REPORT)
    return catalog


def said(catalog: Catalog) -> list[tuple[str, str, str, str]]:
    return [(one.who, one.action, one.report_name, one.about) for one in catalog.audit.entries()]


def test_every_change_is_written_down_and_outlives_its_report(catalog: Catalog) -> None:
    edith = catalog.asked_by(EDITH)
    edith.set_labels(REPORT.id, ["slow", "slow", " new  one "])
    edith.marks.change(REPORT.id, [Mark(5, "here")])
    edith.links.put(REPORT.id, "f" * 16)
    edith.links.remove(REPORT.id)
    edith.decisions.choose(REPORT.id, "nightly")
    edith.decisions.write_note(REPORT.id, "step_ns", Note("accepted", "new driver"))
    edith.name_columns("/inbox/a/table.csv", Columns("a.csv", "t", "v"))
    edith.remove_report(REPORT.id)
    name = REPORT.name
    expected = [
        ("took in", name, "nsys"),
        ("labeled", name, "new one, slow"),
        ("marked", name, "5 ns: here"),
        ("linked", name, f"with {'f' * 16}"),
        ("unlinked", name, "from its Compute report"),
        ("moved", name, "to the series nightly"),
        ("decided", name, "step_ns accepted: new driver"),
        ("named columns", "", "table.csv"),
        ("deleted", name, ""),
    ]
    told = said(catalog)[::-1]
    assert [entry[1:] for entry in told] == expected
    assert {entry[0] for entry in told[1:]} == {EDITH.name}
    assert catalog.asked_by(EDITH).visitor == EDITH
    assert catalog.visitor.way == "local"


def test_what_people_say_of_failed_files_is_written_down(catalog: Catalog) -> None:
    edith = catalog.asked_by(EDITH)
    for name in ("a", "b", "c"):
        catalog.put_job(Job(f"/inbox/{name}.nsys-rep", f"{name}.nsys-rep", "1", "failed"))
    before = catalog.version_of_files()
    edith.dismiss("/inbox/a.nsys-rep")
    edith.forget_job("/inbox/b.nsys-rep", asked=True)
    catalog.forget_job("/inbox/c.nsys-rep")
    edith.dismiss("/inbox/nothing")
    edith.forget_job("/inbox/nothing", asked=True)
    assert said(catalog)[:-1] == [
        (EDITH.name, "tried again", "", "b.nsys-rep"), (EDITH.name, "dismissed", "", "a.nsys-rep"),
    ]  # fmt: skip
    assert [job.state for job in catalog.jobs()] == ["dismissed"]
    assert catalog.version_of_files() != before


def test_a_report_that_two_workers_list_was_taken_in_once(catalog: Catalog) -> None:
    """A worker that starts lists a report that another is about to list."""
    catalog.add_report(replace(REPORT, gpu="NVIDIA GB300"))
    assert [one.gpu for one in catalog.reports()] == ["NVIDIA GB300"]
    catalog.remove_report(REPORT.id)
    catalog.add_report(REPORT)
    assert [action for _, action, _, _ in said(catalog)] == ["took in", "deleted", "took in"]


def test_a_change_that_fails_leaves_no_entry(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marks, "MOST", 1)
    before = said(catalog)
    with pytest.raises(AnalysisError):
        catalog.marks.change(REPORT.id, [Mark(1, "a"), Mark(2, "b")])
    assert said(catalog) == before


def test_it_is_bounded(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audits, "MOST", 5)
    for number in range(9):
        catalog.audit.write("uploaded", about=f"{number}" + "x" * 10_000)
    assert [one.about[0] for one in catalog.audit.entries()] == ["8", "7", "6", "5", "4"]
    assert {len(one.about) for one in catalog.audit.entries()} == {audits.LONGEST}


def set_time(catalog: Catalog, about: str, at: str) -> None:
    with catalog.transaction() as db:
        for table in audits.LOGS:
            db.execute(f"UPDATE {table} SET at = ? WHERE about = ?", [at, about])


def test_entries_stay_as_long_as_the_setting_says(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many there are; the newest always stay, for example if the clock has jumped ahead."""
    monkeypatch.setattr(audits, "LEAST", 3)
    monkeypatch.setenv("WARPDECK_AUDIT_DAYS", "0")
    for number, day in enumerate(("2025-01-31", "2026-02-01", "2026-10-01", "2026-10-02", "2026-10-03")):
        catalog.audit.write("uploaded", about=str(number))
        set_time(catalog, str(number), f"{day}T00:00:00+00:00")

    def write(year: int) -> str:
        monkeypatch.setattr(audits, "datetime", Mock(now=lambda _: datetime(year, 11, 26, tzinfo=UTC)))
        catalog.audit.write("uploaded", about=f"in {year}")
        return " ".join(one.about for one in reversed(catalog.audit.entries(action="uploaded")))

    assert write(2026) == "0 1 2 3 4 in 2026"
    monkeypatch.setenv("WARPDECK_AUDIT_DAYS", "200")
    assert write(2026) == "2 3 4 in 2026 in 2026"
    assert write(2036) == "in 2026 in 2026 in 2036", "nothing of the last three"


def test_a_month_is_read_and_exported_whole(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(audits, "AT_ONCE", 2)
    actions: tuple[audits.Action, ...] = ("uploaded", "asked SQL", "uploaded")
    for month, day in itertools.product((9, 11, 12), (1, 30)):
        for action in actions:
            catalog.audit.write(action, about=f"=cmd|{month}.{day}")
        set_time(catalog, f"=cmd|{month}.{day}", f"2026-{month:02}-{day:02}T00:00:00+00:00")
    months = catalog.audit.months()
    assert months[months.index("2026-12") :] == ["2026-12", "2026-11", "2026-10", "2026-09"]
    november = list(catalog.audit.iterate("cmd", month="2026-11"))
    assert [(one.about, one.action) for one in november] == [
        (f"=cmd|11.{day}", action) for day in (30, 1) for action in ("uploaded", "uploaded", "asked SQL")
    ]
    every = [one.at for one in catalog.audit.iterate("cmd")]
    assert len(every) == 18
    assert every == sorted(every, reverse=True)
    assert not list(catalog.audit.iterate("cmd", month="2026-10"))
    command.run(catalog, argparse.Namespace(search="cmd", most=None, format="csv", month="2026-11"))
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert [row[-1] for row in rows[1:]] == ["'=cmd|11.30"] * 3 + ["'=cmd|11.1"] * 3
    with pytest.raises(SystemExit):
        main(["audit", "--month", "2026-13"])


def test_a_search_takes_every_sign_as_it_is(catalog: Catalog) -> None:
    for about in ("100%", "100 percent", "a_b", "axb", "it's!", "ÄRGER"):
        catalog.audit.write("uploaded", about=about)

    def found(text: str) -> list[str]:
        return [one.about for one in catalog.audit.entries(text)]

    assert found("0%") == ["100%"]
    assert found("A_B") == ["a_b"]
    assert found("it's!") == ["it's!"]
    assert found("' OR 1 = 1 --") == []
    assert found("train") == ["nsys"], "the name of the report counts, too"
    assert [one.about for one in catalog.audit.entries(action="uploaded", most=2)] == ["ÄRGER", "it's!"]
    assert [one.action for one in catalog.audit.entries(report_id=REPORT.id)] == ["took in"]


def test_the_command_prints_it(
    catalog: Catalog, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WARPDECK_DATABASE", catalog.shared.url if catalog.shared else "")
    catalog.asked_by(EDITH).set_labels(REPORT.id, ['a "quoted", one'])
    for form in ("text", "csv", "json"):
        assert main(["audit", "--library", str(tmp_path), "--search", "edith", "--format", form]) == 0
    text, *csv, rest = capsys.readouterr().out.split("\n", 3)
    assert "Edith, e@example.com (login)  labeled  train.nsys-rep" in text
    assert csv[0] == ",".join(audits.COLUMNS)
    assert '"a ""quoted"", one"' in csv[1]
    assert json.loads(rest)[0]["action"] == "labeled"


def test_the_command_prints_all_that_a_program_reads(
    catalog: Catalog, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WARPDECK_DATABASE", catalog.shared.url if catalog.shared else "")
    monkeypatch.setattr(audits, "AT_ONCE", 2)
    monkeypatch.setattr(command, "USUAL", 3)
    for number in range(5):
        catalog.audit.write("uploaded", about=f"={number}")

    def printed(*argv: str) -> tuple[str, str]:
        assert main(["audit", "--library", str(tmp_path), "--search", "uploaded", *argv]) == 0
        out, err = capsys.readouterr()
        return out, err

    rows = list(csv.DictReader(io.StringIO(printed("--format", "csv")[0])))
    assert [row["about"] for row in rows] == ["'=4", "'=3", "'=2", "'=1", "'=0"], "no formula for a spreadsheet"
    said = printed("--format", "json")[0]
    assert [one["about"] for one in json.loads(said)] == ["=4", "=3", "=2", "=1", "=0"]
    assert said == json.dumps(json.loads(said), indent=1) + "\n"
    assert printed("--format", "json", "--search", "nothing")[0] == "[]\n"
    text, told = printed()
    assert len(text.splitlines()) == 3
    assert told == "There are more entries: only the newest 3 are shown. Try --most.\n"
    text, told = printed("--most", "4")
    assert (len(text.splitlines()), told) == (4, "")
    assert printed("--most", "5")[0].count("\n") == 5
    assert len(printed("--most", "2", "--format", "csv")[0].splitlines()) == 3
