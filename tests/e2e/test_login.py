"""Logging in as people do: a real browser, a real OpenID Connect provider."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.app.web.provider import guarded, provider
from tests.conftest import SAMPLES, ingest_files
from tests.e2e import house

pytestmark = pytest.mark.browser
NAME = "transformer_inference.sqlite"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("login")
    ingest_files(folder, [SAMPLES / NAME])
    return folder


@pytest.fixture(scope="module")
def address(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with (
        provider() as issuer,
        guarded(issuer, data, tmp_path_factory.mktemp("secrets") / "secrets.toml") as (running, _),
    ):
        yield running.address


def log_in(page: Page, address: str, name: str) -> None:
    page.goto(address)
    page.get_by_role("button", name="Log in").click()
    page.locator('input[name="sub"]').fill(name)
    page.get_by_role("button", name="Authorize", exact=True).click()
    page.wait_for_url(f"{address}/**")


def test_an_editor_logs_in_uploads_and_logs_out(page: Page, address: str, data: Path) -> None:
    refused: list[str] = []
    page.on("console", lambda message: refused.append(message.text) if "Security Policy" in message.text else None)
    page.goto(f"{address}/kernels")
    expect(page.get_by_text("Log in to see the reports.")).to_be_visible()
    expect(page.get_by_text("transformer")).to_have_count(0)
    expect(page.locator(".st-key-menu")).to_have_count(0)
    log_in(page, address, "edith")
    expect(page.locator('[role="gridcell"]', has_text=NAME).first).to_be_attached()
    expect(page.get_by_text("Edith, editor")).to_be_visible()
    page.locator('input[type="file"]').set_input_files(
        {"name": "new.csv", "mimeType": "text/csv", "buffer": b"no report\n"}
    )
    expect(page.get_by_text("new.csv is in the inbox")).to_be_visible()
    assert (data / "inbox" / "new.csv").read_bytes() == b"no report\n"
    page.goto(f"{address}/summary")
    expect(page.get_by_role("heading", name="Summary")).to_be_visible()
    page.get_by_role("button", name="Log out").click()
    page.get_by_role("button", name="End session").click()
    expect(page.get_by_text("Log in to see the reports.")).to_be_visible()
    page.goto(f"{address}/summary")
    expect(page.get_by_text("Log in to see the reports.")).to_be_visible()
    assert refused == []


def test_a_viewer_is_offered_nothing_to_change(page: Page, address: str) -> None:
    log_in(page, address, "victor")
    table = page.get_by_test_id("stDataFrame").first
    expect(page.locator('[role="gridcell"]', has_text=NAME).first).to_be_attached()
    expect(page.locator('input[type="file"]')).to_have_count(0)
    expect(page.get_by_text("Select rows to compare or download reports.")).to_be_visible()
    house.click_table(table, 15, 50)
    expect(page.get_by_test_id("stBaseButton-primary").filter(has_text="Open")).to_be_visible()
    for name in ("Delete", "Labels", "Link a report"):
        expect(page.get_by_role("button", name=name)).to_have_count(0)
