"""Common tasks, with the clicks from a report's Summary, and the browser's Back button."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from bench.pages import wait_at_rest
from profiledb.library.library import Library
from profiledb.query import analysis
from profiledb.studies.summary import headline
from tests.e2e import house
from tests.e2e.test_drop import click_first_row

pytestmark = pytest.mark.browser


def menu(page: Page, title: str) -> Locator:
    return page.locator(".st-key-menu").get_by_text(title, exact=True)


def at_rest(page: Page, heading: str) -> None:
    """The page with this title is drawn, and nothing of the page before it is left."""
    expect(page.get_by_role("heading", name=heading, exact=True)).to_be_visible()
    wait_at_rest(page, house.HEADING)


def summary(page: Page, address: str, name: str) -> None:
    house.show(page, address, f"/summary?report={name}")
    at_rest(page, "Summary")


def test_what_stands_in_the_summary_in_one_click(visitor: Page, address: str, library: Library) -> None:
    """The dominant kernel; another report, found by typing; the reason why its GPU is idle."""
    page = visitor
    summary(page, address, house.TRAINING)
    top = analysis.run(library, library.find(house.TRAINING).id, "kernels", {"warmup": "exclude"}).iloc[0]
    page.get_by_text("Dominant kernel").click()
    at_rest(page, "Kernel")
    expect(page.get_by_role("heading", name=str(top["name"]))).to_be_visible()
    page.go_back()
    at_rest(page, "Summary")
    page.locator(".st-key-top-bar").get_by_role("combobox").first.fill("starved")
    page.get_by_role("option", name=re.compile("dataloader_starved")).click()
    expect(page).to_have_url(re.compile(library.find(house.STARVED).id))
    summary(page, address, house.STARVED)
    expect(page.get_by_text("Do first:").first).to_be_visible()
    expect(page.get_by_text("in other processes").first).to_be_visible()
    page.get_by_text("Why the GPU is idle").click()
    at_rest(page, "Idle")
    expect(page.get_by_text("step_*/next_batch/transform_image").first).to_be_visible()
    expect(page.get_by_text("This looks like data loading").first).to_be_visible()


def test_what_limits_the_dominant_kernel_in_one_click(visitor: Page, address: str, library: Library) -> None:
    """For an unmeasured kernel, the page gives the command for Nsight Compute; for a measured one, the verdict."""
    page = visitor
    summary(page, address, house.TRAINING)
    page.get_by_text("Dominant kernel").click()
    at_rest(page, "Kernel")
    expect(page.get_by_text("Not measured", exact=True)).to_be_visible()
    expect(page.get_by_test_id("stCode").filter(has_text="ncu --set full --launch-count 1").first).to_be_visible()
    systems = library.find(house.TRAINING).id
    rows = analysis.run(library, systems, "kernel_verdicts", {"warmup": "exclude"})
    row = rows[rows["verdict"] != "not measured"].iloc[0]
    house.show(page, address, f"/kernel?report={systems}&kernel={row['kernel']}")
    at_rest(page, "Kernel")
    expect(page.get_by_text(f"{row['verdict'].capitalize()}: {row['reason']}").first).to_be_visible()


def test_why_attention_is_slow_in_one_click(visitor: Page, address: str) -> None:
    page = visitor
    summary(page, address, house.ATTENTION)
    menu(page, "Attention").click()
    at_rest(page, "Attention")
    expect(page.get_by_role("heading", name="Why it is slow")).to_be_visible()
    expect(page.get_by_text("scaled_dot_product_attention").first).to_be_visible()


WORDS_ABOVE_THE_FOLD = 120
"""Numbers are not counted: they are what one came for."""
VISIBLE_WORDS = """main => {
    const seen = [], texts = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const text = texts.currentNode, box = document.createRange();
        const hidden = text.parentElement.closest('[data-testid=stIconMaterial], canvas, style, script');
        if (hidden || !text.parentElement.checkVisibility({opacityProperty: true, visibilityProperty: true})) continue;
        box.selectNodeContents(text);
        const {top, bottom, width, height} = box.getBoundingClientRect();
        if (width > 1 && height > 1 && top < innerHeight && bottom > 0) seen.push(text.data.trim());
    }
    return seen.join(' ').split(/\\s+/).filter(word => /\\p{L}/u.test(word));
}"""


def test_a_summary_fits_on_one_screen(page: Page, address: str) -> None:
    """The advice, the split of the time and the findings are above the fold, in few words."""
    page.set_viewport_size({"width": 1440, "height": 900})
    summary(page, address, house.TRAINING)
    expect(page.get_by_text("Do first:")).to_be_in_viewport()
    expect(page.locator(".st-key-time-split .js-plotly-plot")).to_be_in_viewport()
    expect(page.locator('[role="columnheader"]', has_text="Saves").first).to_be_attached()
    expect(page.get_by_text("All findings")).to_be_in_viewport()
    words = page.get_by_test_id("stMain").evaluate(VISIBLE_WORDS)
    assert len(words) <= WORDS_ABOVE_THE_FOLD, " ".join(words)


@pytest.mark.slow("a walk through five pages")
def test_what_the_menu_leads_to_in_one_click(visitor: Page, address: str, library: Library) -> None:
    """The largest saving at the roof; commands to copy; the slowest step and its kernels."""
    page = visitor
    rows = analysis.run(library, library.find(house.TRAINING).id, "iterations", {"rank": 1, "warmup": "exclude"})
    step = headline.find_slowest(rows)
    assert step is not None
    pair = {"ncu": library.find(house.MEASURED).id, "warmup": "exclude"}
    measured = analysis.run(library, library.find(house.TRAINING).id, "time_weighted_roofline", pair)
    (largest,) = measured[measured["match"] == "exact"].nlargest(1, "roof_gap_ns")["name"]
    summary(page, address, house.TRAINING)
    menu(page, "Roofline by time").click()
    at_rest(page, "Roofline by time")
    expect(page.locator('[role="columnheader"]', has_text="Saving at the roof").first).to_be_attached()
    expect(page.get_by_test_id("glide-cell-0-0").first).to_contain_text(str(largest)[:15])
    menu(page, "Idle").click()
    at_rest(page, "Idle")
    # The box of a command is drawn by a part that the browser loads later than the page.
    expect(page.get_by_test_id("stCode").filter(has_text="--with metrics").first).to_be_attached()
    commands = page.get_by_test_id("stCode").all_inner_texts()
    assert not [command for command in commands if not command.isascii()]
    menu(page, "Ranges").click()
    at_rest(page, "Ranges")
    page.get_by_text(f"Kernels of the slowest step: {step.selected}").click()
    at_rest(page, "Kernels")
    expect(page).to_have_url(re.compile(rf"range={step.selected}(&|$)"))


@pytest.mark.slow("a walk through three pages")
def test_training_against_inference_in_two_clicks(visitor: Page, address: str, library: Library) -> None:
    page = visitor
    summary(page, address, house.TRAINING)
    page.get_by_role("button", name="Compare with").click()
    page.get_by_role("combobox", name="Compare this report with").fill("inference")
    page.get_by_role("option", name=re.compile("inference")).click()
    at_rest(page, "Compare")
    expect(page).to_have_url(re.compile(f"other={library.find(house.INFERENCE).id}"))
    expect(page.get_by_text(re.compile("B is (faster|slower)")).first).to_be_visible()
    expect(page.get_by_test_id("stPopoverBody")).to_have_count(0)  # nothing covers what was asked for
    page.get_by_role("link", name="Summary", exact=True).click()  # what was chosen is not chosen again
    at_rest(page, "Summary")
    page.get_by_role("button", name="Compare with").click()
    expect(page.get_by_role("combobox", name="Compare this report with")).to_have_value("")
    expect(page).to_have_url(re.compile("/summary"))


def test_a_link_shows_what_its_sender_saw(page: Page, address: str) -> None:
    page.goto(f"{address}/kernels?report={house.TRAINING}&range=step_2&search=gemm")
    at_rest(page, "Kernels")
    shown = page.get_by_text(re.compile(r" in [\d,]+ launch")).first.inner_text()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=address)
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_text("Link copied.")).to_be_visible()
    link = page.evaluate("navigator.clipboard.readText()")
    assert {"range=step_2", "search=gemm"} <= set(link.partition("?")[2].split("&"))
    assert link.startswith(address)
    page.goto("about:blank")
    page.goto(link)
    at_rest(page, "Kernels")
    expect(page.get_by_test_id("stTextInputField")).to_have_value("gemm")
    expect(page.get_by_text(shown).first).to_be_visible()


@pytest.mark.slow("a walk through four pages")
def test_stalls_of_a_kernel_and_back(page: Page, address: str, library: Library) -> None:
    """Two clicks lead from the kernels of a Systems report to a kernel's Compute launch, and one click back."""
    systems, compute = library.find(house.TRAINING).id, library.find(house.MEASURED).id
    rows = analysis.run(library, systems, "time_weighted_roofline", {"ncu": compute, "warmup": "exclude"})
    row = rows[rows["match"] == "exact"].iloc[0]
    (first,) = analysis.run(library, systems, "kernels", {"search": "masked_fill", "limit": 1})["kernel"]
    assert str(first) == str(row["kernel"]), "the first of the list is one that Nsight Compute measured"
    page.goto(f"{address}/kernels?report={systems}&search=masked_fill")
    at_rest(page, "Kernels")
    click_first_row(page)
    at_rest(page, "Kernel")
    page.get_by_text("Stalls, roofline and rules in Nsight Compute").click()
    at_rest(page, "Kernel profiles")
    expect(page).to_have_url(re.compile(rf"report={compute}&launch={int(row['launch_id'])}"))
    expect(page.get_by_text("stall").first).to_be_attached()
    page.get_by_text(re.compile(r"This kernel in .*of kernel time")).click()
    at_rest(page, "Kernel")
    expect(page).to_have_url(re.compile(rf"report={systems}&kernel={row['kernel']}"))


@pytest.mark.slow("a walk through five pages")
def test_back_and_forward_lead_through_what_was_open(page: Page, address: str) -> None:
    """The history holds only pages that somebody opened, also after a search.

    Each step waits until its page is drawn: Streamlit writes an entry of its own if the next step comes before the
    first one's run has begun.
    """
    summary(page, address, house.TRAINING)
    opened = [(page.url, "Summary", "")]
    menu(page, "Kernels").click()
    at_rest(page, "Kernels")
    opened.append((page.url, "Kernels", ""))
    page.get_by_test_id("stTextInputField").fill("gemm")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("search=gemm"))
    opened.append((page.url, "Kernels", "gemm"))
    menu(page, "Phases").click()
    at_rest(page, "Phases")
    opened.append((page.url, "Phases", ""))
    menu(page, "Library").click()
    at_rest(page, "Library")

    def shown(url: str, title: str, search: str) -> None:
        at_rest(page, title)
        if title == "Kernels":
            expect(page.get_by_test_id("stTextInputField")).to_have_value(search)
            expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
        expect(page).to_have_url(url)

    for entry in reversed(opened):
        page.go_back()
        shown(*entry)
    for entry in opened[1:]:
        page.go_forward()
        shown(*entry)
    page.go_back()
    shown(*opened[2])


@pytest.mark.slow("a walk through three pages")
def test_back_to_the_library_keeps_its_search(visitor: Page, address: str, library: Library) -> None:
    page = visitor
    found = f"1 of {len(library.list())} reports"
    house.show(page, address, "/")
    at_rest(page, "Library")
    page.get_by_role("textbox", name="Search").fill("inference")
    page.keyboard.press("Enter")
    expect(page.get_by_text(found)).to_be_visible()
    menu(page, "Summary").click()
    at_rest(page, "Summary")
    page.go_back()
    at_rest(page, "Library")
    expect(page.get_by_role("textbox", name="Search")).to_have_value("inference")
    expect(page.get_by_text(found)).to_be_visible()


def test_dragging_over_a_chart_selects_its_time(visitor: Page, address: str) -> None:
    page = visitor
    summary(page, address, house.TRAINING)
    chart = page.locator('[class*="st-key-busy-0"] .js-plotly-plot').first
    place = chart.locator(".nsewdrag").first
    expect(place).to_be_visible()
    place.scroll_into_view_if_needed()
    box = place.bounding_box()
    assert box
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 0.90 * box["width"], middle)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.95 * box["width"], middle, steps=8)
    page.mouse.up()
    expect(page).to_have_url(re.compile(r"from=[\d.]+&to=[\d.]+"))
    times = dict(part.split("=") for part in page.url.partition("?")[2].split("&"))
    low, high = chart.evaluate("chart => chart._fullLayout.xaxis.range.map(x => x * chart.layout.meta.ns_per_x / 1e6)")
    assert float(times["from"]) == pytest.approx(low + 0.90 * (high - low), abs=0.02 * (high - low))
    assert float(times["to"]) == pytest.approx(low + 0.95 * (high - low), abs=0.02 * (high - low))


@pytest.mark.slow("the other chart whose time is selected by dragging")
def test_dragging_over_steps_selects_their_time(visitor: Page, address: str, library: Library) -> None:
    page = visitor
    house.show(page, address, f"/ranges?report={house.TRAINING}")
    at_rest(page, "Ranges")
    chart = page.locator(".js-plotly-plot", has_text="Step").last
    chart.scroll_into_view_if_needed()
    box = chart.locator(".nsewdrag").first.bounding_box()
    assert box
    for place, act in ((0.41, page.mouse.down), (0.79, page.mouse.up)):  # over the steps 2 and 3 of 0 to 4
        page.mouse.move(box["x"] + place * box["width"], box["y"] + box["height"] / 2, steps=8)
        act()
    expect(page).to_have_url(re.compile(r"from=[\d.]+&to=[\d.]+"))
    times = dict(part.split("=") for part in page.url.partition("?")[2].split("&"))
    rows = analysis.run(library, library.find(house.TRAINING).id, "iterations", {"rank": 1}).to_dict("records")
    first, last = (next(row for row in rows if row["name"] == name) for name in ("step_2", "step_3"))
    assert float(times["from"]) == pytest.approx(first["start_ns"] / 1e6, abs=1e-3)
    assert float(times["to"]) == pytest.approx((last["start_ns"] + last["cpu_ns"]) / 1e6, abs=1e-3)


@pytest.mark.slow("a walk through three pages")
def test_the_menu_folds_on_a_narrow_window(page: Page, address: str) -> None:
    page.set_viewport_size({"width": 800, "height": 900})
    summary(page, address, house.TRAINING)
    sidebar = page.get_by_test_id("stSidebar").bounding_box()
    assert sidebar
    assert sidebar["width"] < 80
    page.locator(".st-key-menu a", has_text="Kernels").click()
    at_rest(page, "Kernels")
    page.mouse.move(700, 500)  # as a hand does that goes on to the table
    opened = page.get_by_role("heading", name="Kernel", exact=True)
    for _ in range(3):  # now and then a click on a table that was drawn just before is lost, and a person clicks again
        click_first_row(page)
        try:
            expect(opened).to_be_visible(timeout=10_000)
            break
        except AssertionError:
            expect(page.get_by_role("heading", name="Kernels", exact=True)).to_be_visible()
    at_rest(page, "Kernel")


def test_a_narrow_table_tells_that_columns_follow_only_if_they_do(page: Page, address: str) -> None:
    page.set_viewport_size({"width": 800, "height": 900})
    house.show(page, address, f"/api?report={house.TRAINING}")
    at_rest(page, "API")
    page.wait_for_function(FITTING)


FITTING = """() => {
  const tables = [...document.querySelectorAll('[data-testid="stDataFrame"]')];
  const fits = table => {
    const scroller = table.querySelector('.dvn-scroller');
    return scroller && scroller.scrollWidth === scroller.clientWidth && !table.hasAttribute('data-more-columns');
  };
  return tables.length > 1 && tables.every(fits);
}"""
"""A table in a narrow window hides columns until the others fit. It has drawn all of them before."""


@pytest.mark.slow("opens a document for each old address")
def test_old_addresses_lead_to_the_pages(page: Page, address: str) -> None:
    for old, new, title in (("split", "phases", "Phases"), ("crossover", "cpu_vs_gpu", "CPU vs GPU")):
        page.goto(f"{address}/{old}?report={house.TRAINING}&range=step_2")
        at_rest(page, title)
        expect(page).to_have_url(re.compile(rf"/{new}\?report={re.escape(house.TRAINING)}&range=step_2$"))
