"""Pages of a report whose file is still being converted."""

import shutil
from pathlib import Path

import pytest

from app.views.library.table import PREPARING, build_frame
from profiledb.library.library import Library
from tests.app.conftest import Dashboard
from tests.support.previews import publish_both

SAID = "run is being prepared. Its kernels and copies can be read; calls, ranges and findings follow in a moment."
PART = ":material/hourglass_top: This part of the page is being prepared."


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """A library with the preview of a report."""
    return publish_both(tmp_path_factory.mktemp("made"))[0]


@pytest.fixture
def early(empty: Path, made: Library) -> Library:
    """The preview of a report in the library of the dashboard, which has no worker."""
    shutil.copytree(made.folder, empty / "library", dirs_exist_ok=True)
    return Library(empty / "library")


def test_the_table_of_kernels_is_there_and_says_that_the_rest_is_being_prepared(
    dashboard: Dashboard, early: Library
) -> None:
    at = dashboard("kernels", report=early.list()[0].id)
    assert not at.error
    assert [info.value for info in at.info] == [SAID]
    assert any("3,000 launches" in caption.value for caption in at.caption)


@pytest.mark.parametrize("url", ["summary", "ranges"])
def test_a_page_of_what_comes_later_says_so(dashboard: Dashboard, early: Library, url: str) -> None:
    at = dashboard(url, report=early.list()[0].id)
    assert not at.error
    assert [info.value for info in at.info] == [SAID]
    assert PART in [caption.value for caption in at.caption]


def test_the_list_says_that_a_report_is_being_prepared(early: Library) -> None:
    assert build_frame(early.list(), {}, {}, {})["worst"].to_list() == [PREPARING]
