"""How processes look at the files of reports in a bucket: a few at a time, and none of all others."""

import pytest

from profiledb.library.bucket import copy_cache, object_store
from profiledb.library.bucket.object_index import ObjectIndex
from profiledb.report import sidecar
from tests.support.bucket_library import ONE, THREE, TWO, Machine, machine, no_patience, publish, store_of, total
from tests.support.s3 import BOTH

__all__ = ["machine", "no_patience"]  # fixtures


def test_a_process_remembers_few_reports(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its memory must not grow with the library."""
    monkeypatch.setattr(object_store, "MOST_LOOKS", 2)
    monkeypatch.setattr(object_store, "LISTED_S", 100.0)
    monkeypatch.setattr(copy_cache, "MOST_VERIFIED", 2)
    here = machine()
    for report_id in (ONE, TWO, THREE):
        publish(here, report_id, 70)
    there = machine()
    store_of(there).look_at([ONE, TWO, THREE])
    assert [there.stamp(there.path(one)) for one in (ONE, TWO, THREE)] == [
        here.path(one).stat().st_mtime_ns for one in (ONE, TWO, THREE)
    ]
    assert [total(there, one) for one in (ONE, TWO, THREE)] == [70, 70, 70]
    assert len(store_of(there)._looks) == 2
    assert len(store_of(there).copies._verified) == 2


@BOTH
def test_a_list_asks_for_the_files_of_its_reports_at_once(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_store, "LISTED_S", 100.0)
    here = machine()
    for report_id in (ONE, TWO):
        publish(here, report_id, 70)
    there = machine()
    there.look_at([ONE, TWO])
    monkeypatch.setattr(ObjectIndex, "files_of", lambda *_: pytest.fail("it asks for each report"))
    assert there.stamp(there.path(ONE)) == here.path(ONE).stat().st_mtime_ns
    assert not there.has_sidecar(TWO, "meta")


@BOTH
def test_the_times_of_all_files_are_those_of_each(machine: Machine) -> None:
    here = machine()
    publish(here, ONE)
    here.put_sidecar(ONE, "meta", "{}")
    names = (here.path(ONE).name, f"{ONE}{sidecar.SUFFIX['meta']}", f"{ONE}{sidecar.SUFFIX['power']}")
    times = here.file_times()[ONE]
    assert [times.get(name, 0) for name in names] == [here.stamp(here.reports / name) for name in names]
    assert times[names[0]] > 0
    assert times[names[1]] > 0
