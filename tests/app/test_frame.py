"""The frame of every page: the menu and its gray pages, the report switcher, former addresses."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from app.frame import report_switcher
from app.page_list import SPECIAL, VIEWS
from app.ui.pin_button import PINNED
from profiledb.library.library import Library
from tests.app.conftest import Dashboard, picker


def elements(block: Any) -> Iterator[Any]:
    for child in block.children.values():
        yield from elements(child) if hasattr(child, "children") else (child,)


def links(at: AppTest) -> dict[str, Any]:
    """The links of the menu by their labels."""
    return {one.proto.label: one.proto for one in elements(at.sidebar) if one.type == "page_link"}


def groups(at: AppTest) -> dict[str, bool]:
    """The groups of the menu, and whether each is unfolded."""
    return {one.label: one.proto.expanded for one in at.sidebar.expander}


def find(library: Library, name: str) -> str:
    found = [report.id for report in library.list() if report.name == name]
    if not found:
        pytest.skip(f"no {name} here")
    return found[0]


def test_the_menu_has_groups_and_carries_the_report_with_its_selection(dashboard: Dashboard, library: Library) -> None:
    report = find(library, "transformer_training.nsys-rep")
    at = dashboard("kernels", report=report, range="step_2")
    assert groups(at) == dict.fromkeys(("GPU", "Program", "Compare", "Special", "Data"), True)
    menu = links(at)
    assert list(menu)[:5] == ["Library", "Summary", "Timeline", "Findings", "Kernels"]
    assert menu["Roofline by time"].query_string == f"report={report}&range=step_2"
    gray = {label: link.help.replace("\\", "") for label, link in menu.items() if link.disabled}
    assert gray["Operators"].endswith("has no operators of the PyTorch profiler."), "nsys records none of PyTorch"
    assert gray["Roofline"].endswith("has no hardware counters of kernel launches.")


def test_a_page_has_one_name() -> None:
    for view in VIEWS:
        assert view.path.is_file(), f"{view.title} has no folder of its name"
    assert len({view.title for view in VIEWS}) == len(VIEWS)
    assert not {view.url for view in VIEWS} & {old for view in VIEWS for old in view.former_urls}


def test_pages_without_data_are_gray_with_the_reason(dashboard: Dashboard, library: Library) -> None:
    at = dashboard("summary", report=find(library, "wsl2_no_kernels.nsys-rep"))
    menu = links(at)
    gray = {label: link.help for label, link in menu.items() if link.disabled}
    assert {"Kernels", "Roofline by time", "Idle", "Phases", "Memory"} <= set(gray)
    assert all(reason.endswith(".") and "has no" in reason for reason in gray.values())
    assert "API" not in gray
    assert {view.title for view in VIEWS if view.group == SPECIAL} <= set(gray)
    assert not groups(at)["Special"], "a group without any data is folded"
    assert groups(at)["Program"]


def test_a_compute_report_has_its_own_pages(dashboard: Dashboard, library: Library) -> None:
    at = dashboard("kernel_profiles", report=next(report.id for report in library.list() if report.kind == "ncu"))
    menu = links(at)
    offered = [label for label, link in menu.items() if not link.disabled]
    assert offered == ["Library", "Findings", "Kernel profiles", "Roofline", "Trends", "SQL"]
    assert {view.title for view in VIEWS if view.listed} <= set(menu), "no page leaves the menu"
    assert menu["Timeline"].help.replace("\\", "").endswith("has no timeline.")


def test_the_report_at_hand_stays_while_others_come_in(dashboard: Dashboard, library: Library) -> None:
    """It is the sample for newcomers, or else the newest report at the first visit."""
    training = library.find("transformer_training.nsys-rep")
    library.catalog.add_report(replace(training, sample=True))
    assert training.id in links(dashboard())["Summary"].query_string
    library.delete(training.id)
    at = dashboard()
    first = links(at)["Summary"].query_string
    newest = library.list()[-1]
    library.catalog.add_report(replace(newest, ingested_at="2099-01-01T00:00:00+00:00"))
    assert links(at.run())["Summary"].query_string == first
    assert newest.id in links(dashboard())["Summary"].query_string


@pytest.mark.parametrize(
    ("old", "title"),
    [
        ("split", "Phases"),
        pytest.param("timings", "Timer check", marks=pytest.mark.slow("draws another page")),
        pytest.param("crossover", "CPU vs GPU", marks=pytest.mark.slow("draws another page")),
    ],
)
def test_old_addresses_lead_to_the_page(dashboard: Dashboard, library: Library, old: str, title: str) -> None:
    at = dashboard(old, report=find(library, "transformer_training.nsys-rep"))
    assert not at.exception
    assert [one.value for one in at.header] == [title]


def test_reports_pinned_and_seen_stand_first(dashboard: Dashboard, library: Library) -> None:
    assert report_switcher.order_reports("abcd", ["c"], ["d", "x", "c"]) == ["c", "d", "a", "b"]
    first, second, *_, last = [report for report in library.list() if report.kind == "nsys"]
    library.catalog.set_labels(last.id, ["pinned", "nightly"])
    at = dashboard("kernels", report=first.id)
    box = picker(at)
    assert box.options[0].startswith(f"★ {last.name}")
    assert box.options[0].endswith("nightly"), "a label is found by typing it"
    box.set_value(box.options[[o.startswith(second.name) for o in box.options].index(True)]).run()
    assert any(option.startswith(f"↺ {first.name}") for option in picker(at).options)


def test_a_report_is_pinned_with_one_click(dashboard: Dashboard, library: Library) -> None:
    report = find(library, "transformer_training.nsys-rep")
    at = dashboard("kernels", report=report)
    for label, stands in (("Pin", True), ("Unpin", False)):
        (button,) = [one for one in at.button if one.key == "top-pin"]
        assert button.label == label
        at = button.click().run()
        assert not at.exception
        assert (PINNED in library.catalog.labels().get(report, [])) is stands
        assert picker(at).options[0].startswith("★") is stands
