"""Tests that need a missing nsys, ncu, Chromium or nginx are skipped with a reason, or fail on demand."""

import subprocess
import sys

import pytest

from tests.conftest import ROOT
from tests.support.needs import NEEDS

pytest_plugins = ["pytester"]

SUITE = """
import pytest

@pytest.fixture
def nsys():
    raise AssertionError("made for a test that cannot run")

@pytest.fixture
def ncu():
    raise AssertionError("made for a test that cannot run")

def test_nsys(nsys): ...
def test_ncu(ncu): ...

@pytest.mark.nsight
def test_marked(): ...

@pytest.mark.nsight("ncu")
def test_marked_ncu(): ...

@pytest.mark.browser
def test_browser(): ...

@pytest.mark.parametrize("ncu", ["off"])
def test_free(ncu): ...

@pytest.fixture
def nginx():
    raise AssertionError("made for a test that cannot run")

def test_proxy(nginx): ...
"""
HIDDEN = {need.variable: "off" for need in NEEDS.values()}


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A suite under the hooks of tests/conftest.py, with all tools hidden."""
    for variable, value in HIDDEN.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.delenv("WARPDECK_TEST_TOOLS", raising=False)
    pytester.makeini("[pytest]\nmarkers =\n    nsight\n    browser\n    integration\n")
    pytester.makeconftest("from tests.support.needs import pytest_collection_modifyitems, pytest_runtest_setup")
    pytester.makepyfile(SUITE)
    return pytester


def test_what_needs_a_missing_tool_is_skipped_with_one_line(suite: pytest.Pytester) -> None:
    done = suite.runpytest_inprocess("-rs", "-p", "no:cacheprovider")
    done.assert_outcomes(passed=1, skipped=6)
    reasons = [line for line in done.outlines if line.startswith("SKIPPED")]
    assert len(reasons) == 4
    done.stdout.fnmatch_lines("SKIPPED [[]2[]] *needs nsys, which WARPDECK_NSYS=off hides")
    done.stdout.fnmatch_lines("SKIPPED [[]2[]] *needs ncu, which WARPDECK_NCU=off hides")


def test_the_reason_says_how_to_get_the_tool(suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in HIDDEN:
        monkeypatch.setenv(variable, str(suite.path / "missing"))
    done = suite.runpytest_inprocess("-rs", "-p", "no:cacheprovider")
    done.assert_outcomes(passed=1, skipped=6)
    scripts = {"nsys": "nsight", "ncu": "nsight", "Chromium": "browser", "nginx": "nginx"}
    for name, script in scripts.items():
        done.stdout.fnmatch_lines(f"SKIPPED *needs {name}: run scripts/install_{script}.sh as root*")


def test_where_the_tools_are_required_nothing_is_skipped(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WARPDECK_TEST_TOOLS", "required")
    done = suite.runpytest_inprocess("-p", "no:cacheprovider")
    done.assert_outcomes(passed=1, errors=6)
    assert done.ret == pytest.ExitCode.TESTS_FAILED


def test_what_starts_a_profiler_is_an_integration_test(suite: pytest.Pytester) -> None:
    done = suite.runpytest_inprocess("-m", "integration and nsight", "-p", "no:cacheprovider")
    done.assert_outcomes(skipped=4, deselected=3)


def test_what_is_hidden_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    command = [sys.executable, "-m", "tests.support.needs"]

    def to_install(**variables: str) -> list[str]:
        for variable, value in (HIDDEN | variables).items():
            monkeypatch.setenv(variable, value)
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()

    assert to_install() == []
    assert to_install(WARPDECK_NCU="/nowhere/ncu") == ["scripts/install_nsight.sh"]
    assert to_install(WARPDECK_CHROMIUM="/nowhere/chromium") == ["scripts/install_browser.sh"]
    assert to_install(WARPDECK_NGINX="/nowhere/nginx") == ["scripts/install_nginx.sh"]
    assert to_install(WARPDECK_SWIFT="/nowhere/bin") == ["scripts/install_swift.sh"]
    assert to_install(WARPDECK_OIDC="/nowhere/node_modules") == ["scripts/install_oidc.sh"]
