"""The tour of the samples on the Library page: who sees it, and the target of each link."""

from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from app import worker_process
from app.page_list import VIEWS
from app.selection import page_selection
from app.views.library import tour as library_tour
from app.views.library.tour import NAMES_REPORT
from profiledb.library.catalog import LAUNCHES, Manifest
from profiledb.library.library import Library
from profiledb.report.schema import SCHEMA_VERSION
from tests.app.conftest import MAIN, SAMPLES, Dashboard, at_page
from tests.support.page_reports import of_kind

pytestmark = pytest.mark.skipif(not list(SAMPLES.glob("*.nsys-rep")), reason="no sample reports here")

NOT_HERE = {"cpu_vs_gpu", "energy", "scaling"} - {view.url for view in VIEWS}
"""Pages that a checkout may lack; the tour then leaves them out."""
BESIDE = {"cpu_vs_gpu", "energy"}
"""Pages of what lies beside a report, which the library of these tests does not have."""


def sample(name: str) -> Manifest:
    kind = "ncu" if name.endswith(".ncu-rep") else "nsys"
    return Manifest(f"id-{name}", SCHEMA_VERSION, name, kind, name, 1, sample=True, rows=of_kind(kind))


def samples() -> list[Manifest]:
    return [
        sample(name)
        for name in dict.fromkeys(name for stop in library_tour.read_tour()["stop"] for name in stop["reports"])
    ]


def mark(library: Library, *, own: str = "") -> None:
    """Mark the samples as samples, and delete all other reports except ``own``."""
    known = {report.name for report in samples()}
    for report in library.list():
        if report.name in known - {own}:
            library.catalog.add_report(replace(report, sample=True))
        elif report.name != own:
            library.delete(report.id)


def questions(at: AppTest, kind: str = "stop") -> list[str]:
    asked = [stop["question"] for stop in library_tour.read_tour()[kind]]
    return [question for question in asked if any(f"**{question}**" in one.value for one in at.markdown)]


def buttons(at: AppTest) -> list[str]:
    """The labels of the buttons that open the tour."""
    return [one.label for one in at.button if one.key == "library-tour"]


def test_the_file_names_what_there_is() -> None:
    files = {path.name for path in (*SAMPLES.glob("*"), *SAMPLES.glob("*/*"))}
    pages = {view.url: "ncu" if view.subject == LAUNCHES else "nsys" for view in VIEWS} | dict.fromkeys(
        NOT_HERE, "nsys"
    )
    keys = {prefix + key for prefix in ("", page_selection.OTHER) for key in page_selection.KEYS}
    for stop in library_tour.read_tour()["stop"]:
        assert set(stop["reports"]) <= files
        assert 1 <= len(stop["links"]) <= 3
        for link in stop["links"]:
            assert {link[key] for key in NAMES_REPORT if key in link} <= set(stop["reports"])
            assert pages[link["page"]] == sample(link["report"]).kind
            assert link.keys() - {"label", "page", *NAMES_REPORT} <= keys
    assert library_tour.read_tour()["stop"][0]["reports"] == [
        "dataloader_starved.nsys-rep",
        "dataloader_fixed.nsys-rep",
    ]


def test_links_carry_the_ids_of_the_library() -> None:
    found = library_tour.find_stops(samples())
    assert len(found) == len(library_tour.read_tour()["stop"]) - len(NOT_HERE)
    compare = found[0].links[-1]
    assert compare.view.url == "compare"
    assert compare.query == {"report": "id-dataloader_starved.nsys-rep", "other": "id-dataloader_fixed.nsys-rep"}
    naive = next(stop for stop in found if "attention" in stop.question).links[0]
    assert [naive.query[key] for key in ("range", "other_range")] == ["tokens_2048/naive", "tokens_2048/fused"]


def test_what_is_not_there_is_left_out() -> None:
    every = [stop.question for stop in library_tour.find_stops(samples())]
    deleted = [report for report in samples() if report.name != "streams_serial.nsys-rep"]
    assert [stop.question for stop in library_tour.find_stops(deleted)] == [every[0], *every[2:]]
    own = [replace(report, sample=report.name != "streams_serial.nsys-rep") for report in samples()]
    assert library_tour.find_stops(own) == library_tour.find_stops(deleted)  # a report of that name is not the sample
    without = [view for view in VIEWS if view.url != "compare"]
    links = [link.view.url for stop in library_tour.find_stops(samples(), views=without) for link in stop.links]
    assert links
    assert "compare" not in links
    assert library_tour.find_stops(samples(), views=[]) == []
    assert library_tour.find_stops([]) == []


def test_newcomers_have_three_cards_and_ask_for_more(dashboard: Dashboard, library: Library) -> None:
    mark(library)
    at = dashboard()
    assert not at.exception
    assert questions(at, "card") == [card["question"] for card in library_tour.read_tour()["card"]]
    assert len(questions(at, "card")) == 3
    assert not questions(at), "no answer before somebody asks"
    assert buttons(at) == ["More questions"]
    assert at.dataframe
    at.button(key="library-tour").click().run()
    assert questions(at) == [stop.question for stop in library_tour.find_stops(library.list())]
    assert len(questions(at)) >= 7


def test_a_card_asks_and_links_without_an_answer() -> None:
    cards = library_tour.find_stops(samples(), "card")
    assert [card.see for card in cards] == ["", "", ""]
    assert [link.view.url for card in cards for link in card.links] == ["idle", "kernels", "compare"]


def test_the_tour_grows_with_the_library(dashboard: Dashboard, library: Library) -> None:
    mark(library)
    late = library.find("dataloader_fixed.nsys-rep")
    library.catalog.remove_report(late.id)
    at = dashboard()
    at.button(key="library-tour").click().run()
    first = library_tour.read_tour()["stop"][0]["question"]
    assert first not in questions(at)
    library.catalog.add_report(replace(late, sample=True))
    assert questions(at.run())[0] == first


def test_beside_reports_of_its_own_the_tour_is_one_button(dashboard: Dashboard, library: Library) -> None:
    mark(library, own="tasks.nsys-rep")
    at = dashboard()
    assert buttons(at) == ["Tour of the samples"]
    assert not questions(at, "card")
    assert not questions(at)


def test_without_samples_there_is_none(dashboard: Dashboard, library: Library) -> None:
    assert library.list()
    at = dashboard()
    assert not at.exception
    assert not buttons(at)


def test_an_empty_library_waits_for_its_samples(
    dashboard: Dashboard, empty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = dashboard()
    assert not buttons(at)
    assert "No reports yet" in [one.value for one in at.subheader]
    monkeypatch.setattr("app.worker_process.check_worker", lambda: worker_process.WorkerStatus("starting"))
    monkeypatch.setenv("WARPDECK_SAMPLES", str(SAMPLES))
    assert "The first reports are being imported" in [one.value for one in dashboard().subheader]
    monkeypatch.setenv("WARPDECK_SAMPLES", str(empty / "inbox"))
    assert "No reports yet" in [one.value for one in dashboard().subheader]


@pytest.mark.slow("opens some 50 pages")
def test_every_link_leads_to_what_it_says(dashboard: Dashboard, library: Library) -> None:
    mark(library)
    links = [link for stop in library_tour.find_stops(library.list()) for link in stop.links]
    for link in links:
        at = AppTest.from_file(str(MAIN), default_timeout=60)
        at_page(at, link.view.url)
        for key, value in link.query.items():
            at.query_params[key] = value
        at.run()
        said = "\n".join(str(one.value) for kind in (at.error, at.warning, at.info) for one in kind)
        assert not at.exception
        assert not at.error, (link, said)
        empty = [word for word in ("in this report.", "not in the library", "No kernel") if word in said]
        assert not empty or link.view.url in BESIDE, (link, said)
        assert at.query_params["report"] in (link.query["report"], [link.query["report"]])
