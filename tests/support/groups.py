"""Group tests that share an expensive setup, so that one worker process runs them one after another.

``--dist loadgroup`` of pytest-xdist does nothing with pytest 9.2: xdist 3.8 writes a test's group into
``item._nodeid``, which pytest no longer reads. It also cannot start long tests first.
"""

import re

import pytest
from xdist.scheduler import LoadScopeScheduling

MODULES = (
    "tests/app/", "tests/e2e/", "tests/ingest/ncu/", "tests/profiledb/", "tests/warpdeck/test_push.py",
    "tests/warpdeck/test_wheel.py",
)  # fmt: skip
"""Folders and files in which the tests of a module share a server, a browser, a report, or answers on samples."""
FOLDERS = ("tests/deploy/", "tests/e2e/timeline/")
"""Folders in which all tests share one setup."""
REPORTS = (
    "tests/ingest/ncu/test_ncu_agree.py",
    "tests/parity/test_every_report.py",
    "tests/profiledb/query/test_output.py",
    "tests/profiledb/selection/test_selection.py",
    "tests/second/",
)
"""Modules in which tests of the same report share its answers; the report is their parameter."""

MODE = re.compile(r"^(thread|process)-|-(thread|process)$")
"""Prefix or suffix of some of these parameters besides the report."""

BROWSER = "tests/e2e/"
"""The folder of tests that run in browsers or alone: `make test` collects such tests only there."""

SERVED = re.compile(r"[\[-]swift[\]-]")
"""A parameter of tests that share five servers, which take seconds to start."""

FIRST = (BROWSER, "tests/deploy/", "tests/faults/", "tests/ingest/test_team.py", "tests/warpdeck/", "tests/workloads/")
"""Long tests: started last, they would keep one process busy after all others have finished."""

INTEGRATION = {"built", "dashboard", "ddp", "ingest", "nginx", "nsys_samples", "postgres", "s3"}
"""Fixtures that render pages, start a server or a worker, or import samples."""


class ByGroup(LoadScopeScheduling):
    """Schedule one group at a time on each process, large groups first."""

    def _split_scope(self, nodeid: str) -> str:
        return group(nodeid)


def group(nodeid: str) -> str:
    """Return the group of a test: its module or its parameter, or for most tests a group of its own."""
    if SERVED.search(nodeid):
        return "swift"
    if nodeid.startswith(FOLDERS):
        return nodeid.rpartition("/")[0]
    if nodeid.startswith(REPORTS) and nodeid.endswith("]"):
        return MODE.sub("", nodeid.partition("[")[2][:-1])
    return nodeid.partition("::")[0] if nodeid.startswith(MODULES) else nodeid


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by their fixtures before ``-m`` reads the markers, and move long tests to the front."""
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        if "busy_machine" in fixtures:
            item.add_marker("alone")
        if fixtures & INTEGRATION:
            item.add_marker("integration")
        apart = any(item.get_closest_marker(name) for name in ("browser", "alone"))
        if item.nodeid.startswith("tests/") and apart != item.nodeid.startswith(BROWSER):
            raise pytest.UsageError(f"{item.nodeid} would not run: make test looks for such tests, alone, in {BROWSER}")
    items.sort(key=lambda item: not item.nodeid.startswith(FIRST))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> ByGroup:
    """Return the scheduler for ``-n``."""
    return ByGroup(config, log)
