"""Tests that one process of several runs one after the other, because they share what takes long to make.

pytest-xdist's own ``--dist loadgroup`` does nothing with pytest 9.2: xdist 3.8 writes a test's group into
``item._nodeid``, which pytest reads no more. Nor has it an order in which long tests begin first.
"""

import re

import pytest
from xdist.scheduler import LoadScopeScheduling

MODULES = ("tests/app/", "tests/e2e/", "tests/ingest/ncu/", "tests/profiledb/")
"""Where tests of a module share a server, a browser, a report made once, or what is asked of the same samples."""
FOLDERS = ("tests/deploy/", "tests/e2e/timeline/")
"""Where tests of a folder share one."""
REPORTS = (
    "tests/ingest/ncu/test_ncu_agree.py",
    "tests/parity/test_every_report.py",
    "tests/profiledb/query/test_output.py",
    "tests/profiledb/selection/test_selection.py",
    "tests/second/",
)
"""Where tests of the same report share its answers; its name is their parameter."""

MODE = re.compile(r"^(thread|process)-|-(thread|process)$")
"""What the parameters of some of them have beside the report."""

BROWSER = "tests/e2e/"
"""Where tests in browsers are, and those that run by themselves: `make test` collects no others for them."""

SERVED = re.compile(r"[\[-]swift[\]-]")
"""A parameter of tests that share five servers, which take seconds to start."""

FIRST = (BROWSER, "tests/deploy/", "tests/faults/", "tests/warpdeck/", "tests/workloads/")
"""Tests that take long one by one: begun last, they would keep one process at work when the others have finished."""

INTEGRATION = {"built", "dashboard", "ddp", "ingest", "nginx", "nsys_samples", "postgres", "s3"}
"""Fixtures that draw pages, start a server or a worker, or take samples in."""


class ByGroup(LoadScopeScheduling):
    """Gives each process a group at a time, large ones first."""

    def _split_scope(self, nodeid: str) -> str:
        return group(nodeid)


def group(nodeid: str) -> str:
    """The name of a test's group: its module, or its parameter; a group of its own for most."""
    if SERVED.search(nodeid):
        return "swift"
    if nodeid.startswith(FOLDERS):
        return nodeid.rpartition("/")[0]
    if nodeid.startswith(REPORTS) and nodeid.endswith("]"):
        return MODE.sub("", nodeid.partition("[")[2][:-1])
    return nodeid.partition("::")[0] if nodeid.startswith(MODULES) else nodeid


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks tests by what they use, before ``-m`` reads the markers, and puts those first that take long."""
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
    """The scheduler of ``-n``."""
    return ByGroup(config, log)
