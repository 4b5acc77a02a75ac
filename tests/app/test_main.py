"""The dashboard: the report of a page, the menu, and errors."""

import logging
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from app import worker_process
from app.page_list import VIEWS
from profiledb import config
from profiledb.library import worker_lock
from profiledb.library.library import Library
from tests.app.conftest import MAIN, Dashboard, picker


def of_kind(library: Library, kind: str) -> str:
    found = [r.id for r in library.list() if r.kind == kind]
    if not found:
        pytest.skip(f"no {kind} report here")
    return found[0]


def shown(at: AppTest) -> str:
    """The report in the address; a parameter set by the page is a text, one of a visitor a list."""
    value = at.query_params["report"]
    return value if isinstance(value, str) else value[0]


def test_a_page_without_a_report_opens_on_the_newest_of_the_first_look(dashboard: Dashboard, library: Library) -> None:
    at = dashboard("kernels")
    assert not at.exception
    assert shown(at) == of_kind(library, "nsys")
    assert picker(at).value == of_kind(library, "nsys")


def test_the_picker_changes_the_address(dashboard: Dashboard, library: Library) -> None:
    ids = [r.id for r in library.list() if r.kind == "nsys"]
    if len(ids) < 2:
        pytest.skip("one report only")
    at = dashboard("kernels")
    picker(at).select(ids[1]).run()
    assert shown(at) == ids[1]


def test_the_picker_tells_reports_apart(dashboard: Dashboard, library: Library) -> None:
    first, *others = library.list()
    library.catalog.add_report(replace(first, id="0123456789abcdef", source_sha256="twin"))
    options = picker(dashboard("summary", report=first.id)).options
    assert len(set(options)) == len(options) == len(others) + 2
    assert sum(option.endswith(("0123456789abcdef"[:8], first.id[:8])) for option in options) == 2


@pytest.mark.parametrize(
    "url", ["energy", pytest.param("cpu_vs_gpu", marks=pytest.mark.slow("draws another page")), "scaling"]
)
def test_only_pages_of_a_part_offer_to_choose_one(dashboard: Dashboard, library: Library, url: str) -> None:
    at = dashboard(url, report=library.find("tasks.nsys-rep").id)
    assert not at.exception
    selects = next(view.selects for view in VIEWS if view.url == url)
    assert selects == (url == "energy") == any(toggle.key == "selection-warmup" for toggle in at.toggle)


def test_a_report_of_another_kind_is_named(dashboard: Dashboard, library: Library) -> None:
    at = dashboard("kernels")
    at.query_params["report"] = of_kind(library, "ncu")
    at.run()
    assert "This page shows a timeline, which it does not have" in at.info[0].value


@pytest.mark.parametrize("name", ["nonsense", "' OR 1=1 --", "../../etc", "<b>x</b>"])
def test_an_unknown_report_is_said(dashboard: Dashboard, data: Path, name: str) -> None:
    at = dashboard("summary", report=name)
    assert not at.exception
    assert "No report is called" in at.error[0].value


def test_a_file_that_failed_or_is_being_imported_says_so(dashboard: Dashboard, library: Library) -> None:
    job = next(j for j in library.catalog.jobs() if j.state == "failed")
    at = dashboard("summary", report=job.name)
    assert f"{job.name} failed to import: " in at.error[0].value.replace("\\", "")
    assert job.hint in at.error[0].value.replace("\\", "")
    library.catalog.put_job(replace(job, state="converting"))
    try:
        at = dashboard("summary", report=job.name)
    finally:
        library.catalog.put_job(job)
    assert not at.error
    assert at.info[0].value.replace("\\", "") == f"{job.name} is being imported."


def test_an_empty_library_has_pages_that_say_so(dashboard: Dashboard, empty: Path) -> None:
    at = dashboard("kernels")
    assert not at.exception
    assert "There is no" in at.error[0].value


def boom() -> None:
    from app.ui import page_elements

    with page_elements.boundary():
        raise ValueError("the secret words")


def test_no_traceback_reaches_the_page(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, "warpdeck"):
        at = AppTest.from_function(boom).run()
    assert not at.exception
    shown = at.error[0].value
    assert "secret" not in shown
    number = shown.rstrip(".").rsplit(" ", 1)[1]
    assert any(number in record.message for record in caplog.records)


def lacking() -> None:
    from app.ui import page_elements
    from profiledb.query.captures import explain_capture

    with page_elements.boundary():
        raise explain_capture("gpu_metric")


def test_what_was_not_captured_comes_with_its_command() -> None:
    at = AppTest.from_function(lacking).run()
    assert not at.error
    assert at.code[0].value.startswith("warpdeck profile --with metrics -- ")
    assert "tensor" in "".join(text.value for text in at.markdown)


def test_main_finds_its_packages_from_any_folder(tmp_path: Path) -> None:
    code = f"import runpy; runpy.run_path({str(MAIN)!r}, run_name='main'); import app, profiledb"
    subprocess.run([sys.executable, "-I", "-W", "ignore", "-c", code], cwd=tmp_path, check=True, capture_output=True)


def test_the_worker_is_kept_running_and_ends_with_the_dashboard(empty: Path) -> None:
    keeper = worker_process.WorkerKeeper(config.load(worker="auto", samples="off"))
    assert keeper.check().state == "starting"
    assert keeper.check().state in ("starting", "here")
    keeper.stop()
    assert not worker_lock.is_library_locked(empty / "library")
    assert keeper.check().state == "stopped"  # it waits before it starts another


def test_a_worker_elsewhere_is_seen_and_left_alone(empty: Path) -> None:
    import fcntl

    lock = empty / "library" / "worker.lock"
    lock.parent.mkdir(parents=True)
    with lock.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert worker_lock.is_library_locked(empty / "library")
        assert worker_process.WorkerKeeper(config.load()).check() == worker_process.WorkerStatus("elsewhere")
    assert not worker_lock.is_library_locked(empty / "library")


def test_waits_grow_while_a_worker_keeps_dying(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moment = SimpleNamespace(now=0.0)
    broken = [sys.executable, "-c", "import sys; sys.exit('no disk')"]
    monkeypatch.setattr(worker_process, "build_command", lambda _: broken)
    keeper = worker_process.WorkerKeeper(config.load(), clock=lambda: moment.now)
    for wait in worker_process.BACK_OFF_S:
        assert keeper.check().state == "starting"
        assert keeper._process is not None
        keeper._process.wait(timeout=30)
        assert keeper.check() == worker_process.WorkerStatus("stopped", "no disk")
        moment.now += wait
