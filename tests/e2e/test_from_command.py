"""From a command to its page: the command records a program, and a real browser shows its findings."""

import re
import signal
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.warpdeck.started import MODULE, Desk

pytestmark = [pytest.mark.browser, pytest.mark.slow("records a program and starts a server")]
TRAIN = """
import torch
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(30):
    optimizer.zero_grad()
    model(torch.randn(32, 64)).mean().backward()
    optimizer.step()
"""


def test_a_program_is_recorded_and_its_page_opens(tmp_path: Path, page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.setenv("WARPDECK_NSYS", "off")
    script = tmp_path / "train.py"
    script.write_text(TRAIN)
    desk = Desk(tmp_path, (*MODULE, "profile"))
    with desk.running("--open", "-o", tmp_path, "--", sys.executable, script) as process:
        (address,) = desk.opened()
        page.goto(address)
        expect(page.get_by_role("heading", name="Summary", exact=True)).to_be_visible()
        expect(page.get_by_test_id("stMain").get_by_text("PyTorch").first).to_be_attached()
        page.get_by_role("link", name="Operators", exact=True).click()
        expect(page.locator('[role="columnheader"]', has_text=re.compile("Operator")).first).to_be_attached()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0, "the program's own status"
