"""README.md is short and names every page; docs/settings.md lists every setting; links lead somewhere."""

import re
from collections import Counter

import pytest

from app.page_list import VIEWS
from profiledb.config import SETTINGS, Setting
from tests.conftest import ROOT
from tests.support.project_files import list_tracked_files

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
SETTINGS_TEXT = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
DOCUMENTS = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.md"))
MOST_LINES = 200


def plain(text: str) -> str:
    """Text without links, code marks and quotes."""
    return re.sub(r"\[(.+?)\]\(.+?\)", r"\1", text).replace("`", "").replace("'", "").strip()


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
    assert [row[0] for row in rows(SETTINGS_TEXT)] == [setting.variable for setting in SETTINGS]


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.variable)
def test_a_setting_has_its_default_and_its_help(setting: Setting) -> None:
    default, text = next(row[1:] for row in rows(SETTINGS_TEXT) if row[0] == setting.variable)
    assert default == default_of(setting)
    assert text.startswith(plain(re.sub(r" \(default: .+\)", "", setting.help)))


def test_no_two_sections_have_the_same_title() -> None:
    assert (
        max(Counter(re.findall(r"^#+ .+$", re.sub(r"```.*?```", "", TEXT, flags=re.DOTALL), re.MULTILINE)).values())
        == 1
    )


def test_it_is_short_and_names_every_page() -> None:
    assert TEXT.count("\n") <= MOST_LINES
    named = set(re.findall(r"^\| ([\w ]+) \| ", TEXT, re.MULTILINE))
    assert {"Library", "Admin", *(view.title for view in VIEWS)} <= named


def test_each_document_is_in_the_index() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    assert [name for name in DOCUMENTS if f"({name.removeprefix('docs/')})" not in index] == ["docs/README.md"]


@pytest.mark.parametrize("name", ["README.md", *DOCUMENTS])
def test_links_lead_somewhere(name: str) -> None:
    path = ROOT / name
    for link in re.findall(r"\]\(([^)#]+)(?:#\w+)?\)", path.read_text(encoding="utf-8")):
        assert "://" in link or (path.parent / link).exists(), link


def test_the_screenshots_are_those_that_the_script_takes() -> None:
    pages = (ROOT / "docs" / "pages.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"screenshots/(\w+)\.png", TEXT + pages))
    assert shown == {path.stem for path in (ROOT / "docs" / "screenshots").glob("*.png")}
    taken = (ROOT / "scripts" / "screenshots.py").read_text(encoding="utf-8")
    assert all(f'"{name}": ' in taken for name in shown)


def test_files_that_design_md_names_are_there() -> None:
    files = [path.as_posix() for path in list_tracked_files()]
    text = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    named = re.findall(r"`([\w/]+\.(?:py|sql|toml))(?::[^`]*)?`", text)
    assert len(named) > 50
    assert not [name for name in named if not any(f"/{file}".endswith(f"/{name}") for file in files)]
