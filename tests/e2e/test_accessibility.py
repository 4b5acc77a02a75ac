"""The rules of axe-core: contrast, names, roles, structure; ``test_pages`` checks every page against them."""

from pathlib import Path
from typing import Any

import axe_playwright_python
import pytest
from playwright.sync_api import Page

from app.ui.charts import Theme
from bench.pages import wait_at_rest
from tests.e2e import house

pytestmark = pytest.mark.browser
AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js")
STREAMLITS = (
    # The headings of the menu's groups stand between the items of its list.
    ("list", '[data-testid="stSidebarNavItems"]'),
    ("listitem", '[data-testid="stSidebarNavItems"] > li'),
    # The area to drop files on is said to be without a meaning, and has a name all the same.
    ("presentation-role-conflict", '[data-testid="stFileUploaderDropzone"]'),
    # The label of a field that is disabled is gray, and not part of what axe takes for disabled.
    ("color-contrast", '[data-testid="stSelectbox"]:has(input:disabled) *'),
)
"""What is Streamlit's own and cannot be changed from a page: the rule, and the elements that break it."""

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


def broken(page: Page) -> list[str]:
    """The elements of the page that break a rule and are not Streamlit's own."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    found: dict[str, Any] = page.evaluate(RUN, STREAMLITS)
    assert found["passed"] > 10, "axe looked at next to nothing"
    return list(found["broken"])


@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.slow("the other theme"))])
def test_axe_finds_what_is_wrong(page: Page, address: str, theme: Theme) -> None:
    """On a nearly empty page with a mostly gray menu."""
    page.emulate_media(color_scheme=theme)
    page.goto(f"{address}/summary?report={house.FEW}")
    wait_at_rest(page, house.HEADING)
    assert broken(page) == []
    page.evaluate(PALE)
    assert [rule.split(":")[0] for rule in broken(page)] == ["color-contrast #pale"]
