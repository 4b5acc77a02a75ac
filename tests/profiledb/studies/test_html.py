"""A report as one HTML file has the text of the summary, loads nothing, and shows names as text."""

import html
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from profiledb.library.library import Library
from profiledb.studies.html import document, markdown
from profiledb.studies.summary.document import get_page_params, write_summary
from tests.conftest import ROOT
from tests.support.every_report import FILES, slow_but
from tests.support.hostile_report import hostile

needs_samples = pytest.mark.skipif(not (ROOT / "sample_reports").is_dir(), reason="no samples here")
SHORT = "details_page_4090.csv"
"""A report of which little is known; those that say most are compared with their summaries."""


class Tags(HTMLParser):
    """The tags and attributes of a file, and its words."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.words = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.words += data


def read(page: str) -> Tags:
    tags = Tags()
    tags.feed(page)
    return tags


def test_names_are_text(tmp_path: Path) -> None:
    found = read(document.write_page(*hostile(tmp_path), {}))
    assert not found.tags & {"script", "img", "a", "iframe", "object", "link", "form", "base", "foreignobject"}
    assert not [name for name in found.attributes if name.startswith("on") or name in ("href", "src", "style")]
    assert "<script>window.hit = 1</script>" in found.words


@needs_samples
def test_it_says_what_the_summary_says(sample_data: Path) -> None:
    """For a report of each kind, the file begins with the advice, and its tables are those of the summary."""
    samples = Library(sample_data / "library")
    for name in ("transformer_training.nsys-rep", "transformer_training.ncu-rep"):
        report = samples.find(name)
        params = get_page_params(samples, report, {})
        page = document.write_page(samples, report, params, address="http://host/")
        words = re.sub(r"\s+", " ", read(page).words)
        assert words.partition(f"Warpdeck {name} ")[2].startswith("Do first: ")
        home = "summary" if name.endswith(".nsys-rep") else "kernel_profiles"
        assert f'<a href="http://host/{home}?report={report.id}">' in page
        told = write_summary(samples, report, params)
        cells = [
            html.unescape(re.sub(r"<[^>]*>", "", cell)) for cell in re.findall(r'<td class="number">(.*?)</td>', page)
        ]
        assert len(cells) > 20
        assert not [cell for cell in cells if cell not in told]
        assert "## Top" in told
        assert "<h2>Top " in page
        require_few_screens(page)


def require_few_screens(page: str) -> None:
    words = read(page.partition("<main>")[2]).words.split()
    assert len(words) <= document.MOST_WORDS
    assert len(page) < 200_000


@pytest.mark.parametrize("name", slow_but([SHORT], FILES, "the page of every report there is"))
def test_it_fits_on_a_few_screens(every_report: Library, name: str) -> None:
    report = every_report.find(name)
    require_few_screens(document.write_page(every_report, report, get_page_params(every_report, report, {})))


def test_markdown_of_ours_becomes_html_and_nothing_else() -> None:
    told = markdown.to_html(
        "# A `b`\n\n- **c**\n\n| x | y |\n| --- | --- |\n| `k` | 1.5 % |\n\n<b>[d](http://e) ![f](g)</b>"
    )
    assert "<h1>A <code>b</code></h1>" in told
    assert '<td class="number">1.5 %</td>' in told
    assert "&lt;b&gt;[d](http://e)" in told
