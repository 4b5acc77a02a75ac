"""The page "Library" as a visitor uses it, on reports that the real worker made."""

import io
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from app.ui import page_elements
from app.views.library import table as library_table
from app.views.library.table import cut_finding, shorten_gpu
from app.web import inbox_upload as received
from profiledb.findings import digest, judge, rulebook
from profiledb.library.catalog import Job, Manifest
from profiledb.library.inbox.folder import FolderInbox
from profiledb.library.library import Library
from profiledb.library.report_list import PAGE, get_kind
from profiledb.report.file_names import make_safe_name
from profiledb.report.sidecar import Columns
from profiledb.studies import prefetch
from tests.app.conftest import Dashboard, plain_texts


def table(at: AppTest) -> list[str]:
    """Names in the list."""
    return list(at.dataframe[0].value["name"])


def select(at: AppTest, row: int) -> AppTest:
    key = at.dataframe[0].key
    assert key is not None
    at.session_state[key] = {"selection": {"rows": [row], "columns": [], "cells": []}}
    return at.run()


def texts(at: AppTest) -> str:
    kinds = (at.markdown, at.caption, at.code, at.error, at.info, at.warning, at.subheader, at.text)
    return "\n".join(str(element.value) for elements in kinds for element in elements)


def test_every_report_is_listed(dashboard: Dashboard, library: Library) -> None:
    at = dashboard()
    assert not at.exception
    assert sorted(table(at)) == sorted(r.name for r in library.list())
    assert not set(at.dataframe[0].value["worst"]) & {"", None}, "a report is judged, or it says that it is not"
    rows = at.dataframe[0].value
    assert (rows["size"] > 0).all()
    assert rows["kernels"].dtype.kind in "iuf"


def test_search_and_filters_narrow_the_list(dashboard: Dashboard, library: Library) -> None:
    name = library.list()[0].name
    at = dashboard(q=name)
    assert table(at) == [name]
    at.text_input(key="q").set_value("nothing is called so").run()
    assert not at.dataframe
    assert "No reports match" in texts(at)
    at.text_input(key="q").set_value("").run()
    at.multiselect(key="kind").select("ncu").run()
    assert set(table(at)) == {r.name for r in library.list() if r.kind == "ncu"}


def test_a_large_library_has_pages(dashboard: Dashboard, library: Library) -> None:
    """The page buttons appear only if there are several pages; the search covers all of them."""
    assert not dashboard().number_input
    reports = library.list()
    copies = [
        replace(reports[0], id=f"{number:016x}", name=f"copy_{number:03}.nsys-rep", ingested_at="2020-01-01T00:00:00")
        for number in range(PAGE)
    ]
    for one in copies:
        library.catalog.add_report(one)
    try:
        at = dashboard()
        total = len(reports) + PAGE
        assert f"{total} reports" in texts(at)
        assert len(table(at)) == PAGE
        at.number_input(key="page").set_value(2).run()
        second = table(at)
        assert len(second) == total - PAGE
        assert not set(second) & set(table(dashboard()))
        assert table(dashboard(q="copy_077")) == ["copy_077.nsys-rep"]
        assert table(dashboard(order="name"))[:2] == sorted([*(r.name for r in reports), *(r.name for r in copies)])[:2]
        assert table(dashboard(page="2", q="copy_07")) == [f"copy_07{digit}.nsys-rep" for digit in range(10)]
    finally:
        for one in copies:
            library.catalog.remove_report(one.id)


def test_a_failure_shows_what_to_do(dashboard: Dashboard, library: Library) -> None:
    job = next(j for j in library.catalog.jobs() if j.state == "failed")
    at = dashboard()
    assert any("failed to import" in e.label for e in at.expander)
    shown = texts(at).replace("\\", "")
    assert "broken.nsys-rep" in shown
    assert job.hint in shown
    at.button(key=f"away-{job.path}").click().run()
    assert "broken" not in texts(at)
    assert library.catalog.job(job.path).state == "dismissed"  # type: ignore[union-attr]


def test_a_command_of_a_failure_stands_in_a_box(dashboard: Dashboard, library: Library) -> None:
    job = next(j for j in library.catalog.jobs() if j.state == "failed")
    command = "nsys export -t sqlite REPORT.nsys-rep"
    library.catalog.put_job(replace(job, hint=f"Make one with: {command}"))
    at = dashboard()
    assert command in [box.value for box in at.code]
    assert command not in "".join(str(one.value) for kind in (at.markdown, at.caption) for one in kind)


@pytest.mark.parametrize(
    ("hint", "said", "command"),
    [
        ("Make one with: nsys export -t sqlite R.nsys-rep", "Make one with:", "nsys export -t sqlite R.nsys-rep"),
        ("Copy the file again.", "Copy the file again.", ""),
        ("Check free space and permissions of /data.", "Check free space and permissions of /data.", ""),
        ("", "", ""),
    ],
)
def test_what_a_hint_says_and_its_command(hint: str, said: str, command: str) -> None:
    words, box = page_elements.split_hint(hint)
    assert (words.replace("\\", ""), box) == (said, command)


def test_a_table_that_may_be_cut_off_is_told(dashboard: Dashboard, library: Library) -> None:
    told = "run.timings.csv ends within a line: it may be cut off."
    library.catalog.put_job(Job("/inbox/run.timings.csv", "run.timings.csv", "1@", "ready", message=told))
    assert any(told in one.value.replace("\\", "") for one in dashboard("library").caption)
    library.catalog.forget_job("/inbox/run.timings.csv")


def test_a_failure_can_be_tried_again(dashboard: Dashboard, library: Library) -> None:
    job = next(j for j in library.catalog.jobs() if j.state == "failed")
    dashboard().button(key=f"again-{job.path}").click().run()
    assert library.catalog.job(job.path) is None


def test_labels_are_kept(dashboard: Dashboard, library: Library) -> None:
    report = library.list()[0]
    library.catalog.set_labels(report.id, ["old"])
    at = select(dashboard(), 0)
    editor = next(m for m in at.multiselect if m.label == "Labels")
    assert editor.value == ["old"]
    editor.set_value(["old", "baseline"]).run()
    assert library.catalog.labels()[report.id] == ["baseline", "old"]
    assert list(dashboard().dataframe[0].value["labels"][0]) == ["baseline", "old"]


def test_a_report_is_renamed_and_its_file_keeps_its_name(dashboard: Dashboard, library: Library) -> None:
    at = select(dashboard(), 0)
    report = next(one for one in library.list() if one.name == table(at)[0])
    labels = {b.label for b in at.button}
    assert {"Open", "Rename", "Pin", "Delete"} <= labels
    next(b for b in at.button if b.label == "Rename").click().run()
    hostile = "**bold** <i>x</i> `run`"
    next(t for t in at.text_input if t.label == "Name").set_value(hostile)
    next(b for b in at.button if str(b.key).startswith("FormSubmitter")).click().run()
    assert not at.exception
    assert library.find(report.id).title == hostile
    assert hostile in table(dashboard())
    assert table(dashboard(q="<i>x</i>")) == [hostile]
    assert table(dashboard(q=report.name)) == [hostile], "the name of its file is found, too"
    library.catalog.rename(report.id, "")


def test_delete_asks_first(dashboard: Dashboard, library: Library) -> None:
    report = library.list()[0]
    at = select(dashboard(), 0)
    next(b for b in at.button if b.label == "Delete").click().run()
    assert library.path(report.id).exists()
    at.button(key="delete-kept").click().run()
    assert not [b for b in at.button if b.key == "delete-confirmed"]
    next(b for b in at.button if b.label == "Delete").click().run()
    at.button(key="delete-confirmed").click().run()
    assert not library.path(report.id).exists()
    assert report.id not in {r.id for r in library.list()}
    assert report.name not in table(dashboard())


def test_an_empty_library_says_what_to_do(dashboard: Dashboard, empty: Path) -> None:
    at = dashboard()
    shown = texts(at)
    assert str(empty / "inbox") in shown
    assert "nsys profile" in shown
    assert "warpdeck ingest" in shown  # no worker runs in this test, and the page says so


def test_a_trace_of_a_browser_is_none_of_pytorch() -> None:
    """Both have the same format; people look for them by the program that wrote them."""
    kept = [
        Manifest("a", 1, "a.trace.json", "torch", "", 1, tool="PyTorch profiler"),
        Manifest("b", 1, "b.trace.json", "torch", "", 1, tool="Chrome trace"),
    ]
    assert list(library_table.build_frame(kept, {}, {}, {})["kind"]) == ["PyTorch profiler", "Chrome trace"]
    assert [get_kind(one) for one in kept] == ["torch", "Chrome trace"]


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("run.nsys-rep", "run.nsys-rep"),
        ("../../etc/passwd", "passwd"),
        ("C:\\temp\\run.ncu-rep", "run.ncu-rep"),
        ("--output=x.sqlite", "output=x.sqlite"),
        (".hidden", "hidden"),
        ("..", "report"),
        ("", "report"),
        ("a\nb\x00c.sqlite", "a b c.sqlite"),
        ("$(id)'\";.nsys-rep", "$(id)'\";.nsys-rep"),
    ],
)
def test_names_of_uploads_are_harmless(given: str, name: str) -> None:
    assert make_safe_name(given) == name


def test_a_long_name_keeps_its_suffix() -> None:
    name = make_safe_name("é" * 300 + ".nsys-rep")
    assert name.endswith(".nsys-rep")
    assert 250 <= len(name.encode()) <= 255


def test_uploads_never_overwrite_other_content(tmp_path: Path) -> None:
    inbox = tmp_path / "inbox"
    names = [
        received.save_file(io.BytesIO(text), "x.csv", FolderInbox(inbox)).name
        for text in (b"1", b"2", b"1", b"3", b"2")
    ]
    assert names == ["x.csv", "x-2.csv", "x.csv", "x-3.csv", "x-2.csv"]
    assert sorted(p.name for p in inbox.iterdir()) == ["x-2.csv", "x-3.csv", "x.csv"]
    assert (inbox / "x.csv").read_bytes() == b"1"


def test_the_worst_finding_of_what_was_judged(dashboard: Dashboard, library: Library) -> None:
    """Two of the reports are judged: one waits for its data, and the other has no costly finding."""
    rules = rulebook.load(None)
    for name in ("dataloader_starved.nsys-rep", "launches_graph.nsys-rep"):
        report = library.find(name)
        digest.write_digest(library, report.id, rules, judge.judge(library, report, {}, rules.values()))
        prefetch.list_findings(library, [report.id], rules)
    told = dashboard().dataframe[0].value.set_index("name")["worst"].to_dict()
    assert told["dataloader_starved.nsys-rep"] == "High: Data loading"
    assert told["launches_graph.nsys-rep"] == "Nothing costs time"
    assert told["kernels.nsys-rep"] == "Not judged yet", "no importer runs here that would"
    some = dashboard(finding="data_loading").dataframe[0].value
    assert list(some["name"]) == ["dataloader_starved.nsys-rep"]
    assert len(dashboard(finding="no_such_rule").dataframe[0].value) == len(told)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("NVIDIA GeForce RTX 4090", "RTX 4090"),
        ("Tesla V100-SXM2-16GB", "V100-SXM2-16GB"),
        ("NVIDIA A100-SXM4-80GB", "A100-SXM4-80GB"),
        ("Quadro RTX 5000 with Max-Q Design", "Quadro RT…esign"),
        (None, "–"),
    ],
)
def test_a_gpu_fits_its_column(name: str | None, shown: str) -> None:
    assert shorten_gpu(name) == shown


def test_a_long_finding_ends_in_an_ellipsis() -> None:
    assert cut_finding("High: Matrix products without tensor cores") == "High: Matrix product…"
    assert cut_finding("High: Data loading") == "High: Data loading"


def test_the_library_asks_for_columns(dashboard: Dashboard, empty: Path) -> None:
    library = Library(empty / "library")
    path = str(empty / "inbox" / "a.timings.csv")
    job = Job(
        path, "a.timings.csv", "1@", "columns", None, "a.timings.csv has no columns.", "", '["my label", "n", "ms"]'
    )
    library.catalog.put_job(job, Job(f"{path}2", "b.meta.json", "1@", "alone"))
    at = dashboard()
    assert not at.exception
    assert "b.meta.json waits for a report with the same name." in plain_texts(at)
    at.button(f"columns-{path}").click().run()
    boxes = {box.key: box for box in at.selectbox}
    assert boxes["columns-label"].value == "my label"
    boxes["columns-step"].select("none")
    boxes["columns-time"].select("ms")
    boxes["columns-unit"].select("milliseconds")
    at.run()
    at.button("columns-done").click().run()
    assert library.catalog.columns(path) == Columns("my label", "", "ms", "milliseconds")
