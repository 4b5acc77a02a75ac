"""Every page in both themes against the rules of axe-core: contrast, names, roles, structure."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import axe_playwright_python
import pytest
from playwright.sync_api import Page

from app.pages import VIEWS, View
from app.ui.charts import Theme
from bench.pages import dashboard, wait_at_rest
from profiledb.report.catalog import LAUNCHES
from profiledb.report.library import Library
from tests.conftest import SAMPLES, ingest_files
from tests.support import exports, sweep

pytestmark = [
    pytest.mark.browser,
    pytest.mark.nsight("ncu"),
    pytest.mark.timeout(1200),  # a page takes seconds, and half a minute on a machine that is busy
    pytest.mark.skipif(not (SAMPLES / "energy.sqlite").exists(), reason="no sample reports here"),
]
AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js")
STREAMLITS = (
    # The headings of the menu's groups stand between the items of its list.
    ("list", '[data-testid="stSidebarNavItems"]'),
    ("listitem", '[data-testid="stSidebarNavItems"] > li'),
    # The area to drop files on is said to be without a meaning, and has a name all the same.
    ("presentation-role-conflict", '[data-testid="stFileUploaderDropzone"]'),
)
"""What is Streamlit's own and cannot be changed from a page: the rule, and the elements that break it."""
OF_OTHERS = {"tasks": "tasks.sqlite", "power": "energy.sqlite"}
"""Reports that have a file of a kind beside them, for the pages that show it."""
FEW = "few.sqlite"
"""A report whose menu has gray pages."""
TRAINING, MEASURED, OTHER = "transformer_training.sqlite", "transformer_training.ncu-rep", "energy.sqlite"

RUN = """async known => {
  const found = await axe.run(document, {resultTypes: ['violations']});
  const theirs = (rule, node) => known.some(([id, selector]) =>
    id === rule && document.querySelector(node.target[0])?.matches(selector));
  const words = (rule, node) => `${rule} ${node.target[0]}: ${node.any.map(check => check.message).join('; ')}`;
  return {
    passed: found.passes.length,
    broken: found.violations.flatMap(({id, nodes}) =>
      nodes.filter(node => !theirs(id, node)).map(node => words(id, node))),
  };
}"""
PALE = """() => {
  const text = document.createElement('p');
  text.id = 'pale';
  text.style = 'color: #bbbbbb; background: #ffffff; position: fixed; top: 0; left: 0; z-index: 1000000';
  text.textContent = 'Who can read this?';
  document.querySelector('[data-testid="stMainBlockContainer"]').prepend(text);
}"""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a report for every page, and one without the data of most."""
    folder = tmp_path_factory.mktemp("accessibility")
    names = ("transformer_training", "attention", "energy", "tasks")
    files = [path for name in names for path in SAMPLES.glob(f"{name}.*") if path.suffix != ".nsys-rep"]
    few = exports.write(folder / FEW, exports.kernels(exports.kernel(1_000, 2_000)))
    ingest_files(folder, [*files, few])
    return folder


@pytest.fixture(scope="module")
def address(data: Path) -> Iterator[str]:
    with dashboard({"WARPDECK_DATA": str(data), "WARPDECK_SAMPLES": "off"}) as running:
        yield running


def path(view: View, library: Library) -> str:
    """The address of a page with a report that fills it."""
    name = MEASURED if view.subject == LAUNCHES else OF_OTHERS.get(view.beside or "", TRAINING)
    if view.url == "attention":
        name = "attention.sqlite"
    other = library.find(OTHER).id
    return f"/{view.url}?report={library.find(name).id}&kernel=1&other={other}"


def broken(page: Page) -> list[str]:
    """What of the page breaks a rule and is not Streamlit's own."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found: dict[str, Any] = page.evaluate(RUN, STREAMLITS)
    assert found["passed"] > 10, "axe looked at next to nothing"
    return list(found["broken"])


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_page_breaks_a_rule(page: Page, address: str, data: Path, theme: Theme) -> None:
    """A sweep: a run has each page in one theme, ``make test-all`` in both."""
    library = Library(data / "library")
    page.set_default_timeout(180_000)
    page.emulate_media(color_scheme=theme)
    found = {}
    every = ["/", f"/overview?report={FEW}", *(path(view, library) for view in VIEWS)]
    for where in sweep.part(every, 4 + (theme == "dark"), parts=2):
        page.goto(address + where)
        wait_at_rest(page, '[data-testid="stHeading"]')
        if rules := broken(page):
            found[where] = rules
    assert not found
    page.evaluate(PALE)
    assert [rule.split(":")[0] for rule in broken(page)] == ["color-contrast #pale"], "axe finds what is wrong"
