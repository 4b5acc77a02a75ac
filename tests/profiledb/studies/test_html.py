"""A report as one HTML file: it holds what the summary says, loads nothing, and what names hold is text."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from profiledb.library.library import Library
from profiledb.studies.html import document, markdown
from profiledb.studies.summary.document import page_params, write_summary
from tests.conftest import ROOT
from tests.support.hostile_report import hostile

needs_samples = pytest.mark.skipif(not (ROOT / "sample_reports").is_dir(), reason="no samples here")


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
    """Of a report of each kind, every figure of the summary stands in the file, and it is small."""
    samples = Library(sample_data / "library")
    for name in ("transformer_training.nsys-rep", "transformer_training.ncu-rep"):
        report = samples.find(name)
        params = page_params(samples, report, {})
        page = document.write_page(samples, report, params)
        words = re.sub(r"\s+", " ", read(page).words)
        lines = [line for line in write_summary(samples, report, params).splitlines() if line.startswith("| ")]
        cells = {cell.strip() for line in lines for cell in line.strip("| ").split(" | ")}
        figures = [cell for cell in cells if re.fullmatch(r"[\d.,]+( [%a-zA-Zµ/]+)?", cell)]
        assert len(figures) > 20
        missing = [figure for figure in figures if figure not in words]
        assert not missing
        assert len(page) < 2_000_000


def test_markdown_of_ours_becomes_html_and_nothing_else() -> None:
    told = markdown.to_html(
        "# A `b`\n\n- **c**\n\n| x | y |\n| --- | --- |\n| `k` | 1.5 % |\n\n<b>[d](http://e) ![f](g)</b>"
    )
    assert "<h1>A <code>b</code></h1>" in told
    assert '<td class="number">1.5 %</td>' in told
    assert "&lt;b&gt;[d](http://e)" in told
