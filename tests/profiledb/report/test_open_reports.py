"""One thread reads small reports; as many threads as cores read large ones."""

from functools import partial

import duckdb
import pytest

from profiledb.library.library import Library
from profiledb.library.report_folder import get_report_path
from profiledb.report.open_reports import OpenReports
from tests.profiledb.library.test_library import publish

SMALL, LARGE, NONE = "aaaa000000000001", "bbbb000000000002", "cccc000000000003"
THREADS = "SELECT current_setting('threads')"


@pytest.fixture
def library(empty_library: Library) -> Library:
    """One report of a kernel, and one of so many that its file is larger."""
    publish(empty_library, SMALL)
    publish(empty_library, LARGE)
    with duckdb.connect(empty_library.path(LARGE)) as db:
        rows = "SELECT 0, (hash(i) >> 1)::BIGINT, 0, 1 FROM range(200000) AS of_them (i)"
        db.execute(f"INSERT INTO kernel (start_ns, end_ns, device_id, name_id) {rows}")
    return empty_library


@pytest.fixture
def attached(library: Library) -> OpenReports:
    """Opens both; reports larger than the small one count as large."""
    return OpenReports(partial(get_report_path, library.folder), library.path(SMALL).stat().st_size)


def threads(attached: OpenReports, *report_ids: str) -> int:
    """How many threads work on a query of these reports."""
    with attached.cursor(report_ids) as (cursor, catalogs):
        for catalog in catalogs:
            cursor.execute(f"SELECT count(*) FROM {catalog}.kernel").fetchall()
        ((found,),) = cursor.execute(THREADS).fetchall()
        return int(found)


def test_the_largest_of_the_files_decides(attached: OpenReports) -> None:
    ((cores,),) = duckdb.connect().execute(THREADS).fetchall()
    assert threads(attached, SMALL) == 1
    assert threads(attached, LARGE) == threads(attached, SMALL, LARGE) == threads(attached, LARGE, SMALL) == cores
    attached.use_one_thread()
    assert threads(attached, LARGE) == threads(attached, SMALL, LARGE) == 1


def test_a_report_is_closed_wherever_it_is_open(attached: OpenReports, library: Library) -> None:
    threads(attached, SMALL, LARGE)
    threads(attached, SMALL)
    assert attached.close(SMALL)
    with attached.cursor([SMALL]), attached.cursor([SMALL, LARGE]):
        assert not attached.close(SMALL)
    assert attached.close(SMALL)
    assert attached.close(LARGE)
    assert attached.close(NONE), "it is not open"


def test_a_report_of_a_library_is_small_up_to_a_size(library: Library) -> None:
    with library.cursor(LARGE) as cursor:
        assert cursor.execute(THREADS).fetchall() == [(1,)]
    library.use_one_thread()
    with library.cursor(LARGE) as cursor:
        assert cursor.execute(THREADS).fetchall() == [(1,)]
