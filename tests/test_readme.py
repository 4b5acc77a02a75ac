"""README.md says each thing once, links to what is there, and lists every setting as the program has it."""

import re
from collections import Counter

import pytest

from profiledb.config import SETTINGS, Setting
from tests.conftest import ROOT

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def plain(text: str) -> str:
    """Text without links, code marks and quotes."""
    return re.sub(r"\[(.+?)\]\(.+?\)", r"\1", text).replace("`", "").replace("'", "").strip()


def section(title: str) -> str:
    return TEXT.split(f"\n## {title}\n")[1].split("\n## ")[0]


def rows(text: str) -> list[list[str]]:
    """The cells of each row of a table, its head left out."""
    found = [
        [plain(cell) for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("| `")
    ]
    assert found
    return found


def default_of(setting: Setting) -> str:
    said = re.search(r"\(default: (.+)\)", setting.help)
    if said:
        return said[1]
    return "the checkout" if setting.default == str(ROOT) else setting.default.removeprefix(f"{ROOT}/")


def test_the_table_has_every_setting_once_and_no_other() -> None:
    assert [row[0] for row in rows(section("Settings"))] == [setting.variable for setting in SETTINGS]


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.variable)
def test_a_setting_has_its_default_and_its_help(setting: Setting) -> None:
    default, text = next(row[1:] for row in rows(section("Settings")) if row[0] == setting.variable)
    assert default == default_of(setting)
    assert text.startswith(plain(re.sub(r" \(default: .+\)", "", setting.help)))


def test_no_two_sections_have_the_same_title() -> None:
    assert (
        max(Counter(re.findall(r"^#+ .+$", re.sub(r"```.*?```", "", TEXT, flags=re.DOTALL), re.MULTILINE)).values())
        == 1
    )


@pytest.mark.parametrize("name", ["README.md", "docs/roofline.md", "docs/attribution.md", "docs/design.md"])
def test_links_lead_somewhere(name: str) -> None:
    path = ROOT / name
    for link in re.findall(r"\]\(([^)#]+)(?:#\w+)?\)", path.read_text(encoding="utf-8")):
        assert "://" in link or (path.parent / link).exists(), link


def test_the_screenshots_are_those_that_the_script_takes() -> None:
    shown = set(re.findall(r"docs/screenshots/(\w+)\.png", TEXT))
    assert shown == {path.stem for path in (ROOT / "docs" / "screenshots").glob("*.png")}
    taken = (ROOT / "scripts" / "screenshots.py").read_text(encoding="utf-8")
    assert all(f'"{name}": ' in taken for name in shown)
