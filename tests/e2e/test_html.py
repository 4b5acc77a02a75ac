"""A report as one HTML file, in a browser without a network."""

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser

from profiledb.studies.html import document
from tests.support.hostile_report import hostile


@pytest.mark.browser
def test_it_opens_without_a_network_and_breaks_no_rule(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(document.write_page(*hostile(tmp_path), {}), encoding="utf-8", errors="replace")
    context = browser.new_context(offline=True, bypass_csp=True)  # axe brings a script; the policy is looked at itself
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    assert asked == [file.as_uri()]
    assert page.evaluate("window.hit") is None
    policy = page.locator('meta[http-equiv="Content-Security-Policy"]').get_attribute("content")
    assert policy == document.POLICY
    for dark in (False, True):
        page.emulate_media(color_scheme="dark" if dark else "light")
        violations = Axe().run(page).response["violations"]
        assert not [(one["id"], [node["html"] for node in one["nodes"]][:3]) for one in violations]
    context.close()
