"""Linking reports on the Library page, as a visitor does it."""

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Button

from app import session
from app.ui import report_links
from profiledb.errors import NotLinkedError
from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.query import analysis
from tests.app.conftest import Dashboard
from tests.app.test_library_page import select, table, texts

NSYS, NCU, LESS = "transformer_training.nsys-rep", "transformer_training.ncu-rep", "transformer_inference.ncu-rep"


def open_dialog(dashboard: Dashboard) -> AppTest:
    at = dashboard()
    at = select(at, table(at).index(NSYS))
    return button(at, "Link a report", "Change link").click().run()


def button(at: AppTest, *labels: str) -> Button:
    return next(b for b in at.button if b.label in labels)


def marks(at: AppTest, report: str) -> list[str]:
    return list(at.dataframe[0].value["labels"][table(at).index(report)])


def test_a_visitor_links_the_report_that_covers_most(dashboard: Dashboard, library: Library) -> None:
    nsys, ncu, less = (library.find(name).id for name in (NSYS, NCU, LESS))
    covered = analysis.run(library, nsys, "ncu_coverage", {"ncu": ncu})["covered_pct"].iloc[0]
    at = open_dialog(dashboard)
    assert not at.exception
    shown = texts(at).replace("\\", "")
    assert f"{NCU}**  ·  covers {covered:.0f} % of the GPU time" in shown
    assert shown.index(f"**{NCU}") < shown.index(f"**{LESS}"), "what covers most comes first"
    strangers = [r for r in library.list() if r.kind == "ncu" and r.id not in (ncu, less)]
    assert any("of its kernels" in e.label for e in at.expander) == bool(strangers)
    assert marks(at, NSYS) == []
    at.button(key=f"link-{ncu}").click().run()
    assert not at.exception
    assert library.linked_report(nsys) == ncu
    assert not [b for b in at.button if str(b.key).startswith("link-")], "the dialog is closed"
    assert marks(at, NSYS) == marks(at, NCU) == ["linked"]
    assert any(f"linked with {NCU}" in one.help.replace("\\", "") for one in at.markdown if one.help)
    at = open_dialog(dashboard)
    assert at.button(key=f"link-{less}").label == "Link"
    at.button(key=f"unlink-{ncu}").click().run()
    assert library.linked_report(nsys) is None
    assert marks(at, NSYS) == []


def test_what_a_page_remembers_goes_with_the_link(library: Library) -> None:
    nsys, ncu, less = (library.find(name).id for name in (NSYS, NCU, LESS))
    with pytest.raises(NotLinkedError):
        session.run_whole(nsys, "ncu_coverage")
    covered = []
    for other in (ncu, less, ncu):
        library.link(nsys, other)
        covered.append(session.run_whole(nsys, "ncu_coverage")["covered_pct"].iloc[0])
    assert covered[0] == covered[2] > covered[1]


def test_only_a_systems_report_offers_it(dashboard: Dashboard, library: Library) -> None:
    at = dashboard()
    assert not [b for b in at.button if b.label == "Link a report"]
    at = select(at, table(at).index(NCU))
    assert not [b for b in at.button if b.label == "Link a report"]


def test_without_a_compute_report_the_dialog_says_how_to_capture_one(dashboard: Dashboard, library: Library) -> None:
    for report in library.list():
        if report.kind == "ncu":
            library.delete(report.id)
    shown = texts(open_dialog(dashboard))
    assert "No Compute report" in shown
    assert "warpdeck profile --kernels-of " in shown


@pytest.mark.parametrize(
    ("covered", "other", "words"),
    [
        (63.2, 0.0, "covers 63 % of the GPU time"),
        (63.2, 0.2, "covers 63 % of the GPU time, plus <1 % in other launch shapes"),
        (0.0, 12.0, "12 % of the GPU time, in other launch shapes only"),
        (0.0, 0.0, "covers nothing"),
    ],
)
def test_coverage_in_words(covered: float, other: float, words: str) -> None:
    candidate = report_links.Candidate(Manifest("a", 1, "a", "ncu", "", 1, rows={"ncu_launch": 1}), covered, other)
    assert report_links._describe_coverage(candidate) == words
