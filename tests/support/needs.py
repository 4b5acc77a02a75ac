"""External programs that tests need, and the policy for tests whose programs are missing.

Such a test is skipped, with a reason that says how to install the program. ``WARPDECK_TEST_TOOLS=required`` makes it
fail instead, so that no skip goes unnoticed. Setting the variable of one of ``NEEDS`` to ``off`` hides its program.
``python -m tests.support.needs`` prints the install scripts of programs that are missing and not hidden.
"""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from bench import chromium
from ingest import tools

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT.parent / "shared" / "corpus"
REQUIRED = "WARPDECK_TEST_TOOLS"


@dataclass(frozen=True)
class Need:
    """A program: how to find it, the variable that names or hides it, and the script that installs it."""

    name: str
    find: Callable[[], object | None]
    variable: str
    script: str

    @property
    def hidden(self) -> bool:
        return _named(self.variable) is None

    @property
    def reason(self) -> str:
        if self.hidden:
            return f"needs {self.name}, which {self.variable}=off hides"
        return (
            f"needs {self.name}: run {self.script} as root on Debian, or install it and set {self.variable} to its path"
        )


def find_postgres() -> Path | None:
    """Return the program folder of the newest PostgreSQL server on this machine."""
    if (named := _named("WARPDECK_POSTGRES")) is None:
        return None
    found = [Path(named)] if named else sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=_major)
    return next((folder for folder in reversed(found) if (folder / "postgres").exists()), None)


def find_nginx() -> Path | None:
    """Return the nginx program, which Debian installs in a folder that is only on root's PATH."""
    if (named := _named("WARPDECK_NGINX")) is None:
        return None
    found = shutil.which(named or "nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    return Path(found) if found else None


def find_oidc() -> Path | None:
    """Return the modules of the tests' OpenID provider, if node is available to run it."""
    if (named := _named("WARPDECK_OIDC")) is None:
        return None
    folder = Path(named) if named else ROOT / ".tools" / "oidc" / "node_modules"
    return folder if shutil.which("node") and (folder / "oidc-provider").is_dir() else None


def find_swift() -> Path | None:
    """Return the folder of the OpenStack Swift programs."""
    if (named := _named("WARPDECK_SWIFT")) is None:
        return None
    folder = Path(named) if named else ROOT / ".tools" / "swift" / "bin"
    return folder if (folder / "swift-proxy-server").exists() else None


def _named(variable: str) -> str | None:
    """Return the value of a variable that names a tool, empty if unset, or None if it hides the tool."""
    named = os.environ.get(variable, "").strip()
    return None if named.lower() in ("off", "none") else named


def _major(folder: Path) -> int:
    return int(folder.parent.name) if folder.parent.name.isdigit() else 0


NEEDS = {
    need.name: need
    for need in (
        Need("Chromium", chromium.find_chromium, chromium.VARIABLE, "scripts/install_browser.sh"),
        Need("nsys", tools.find_nsys, "WARPDECK_NSYS", "scripts/install_nsight.sh"),
        Need("ncu", tools.find_ncu, "WARPDECK_NCU", "scripts/install_nsight.sh"),
        Need("PostgreSQL", find_postgres, "WARPDECK_POSTGRES", "scripts/install_postgres.sh"),
        Need("nginx", find_nginx, "WARPDECK_NGINX", "scripts/install_nginx.sh"),
        Need("Swift", find_swift, "WARPDECK_SWIFT", "scripts/install_swift.sh"),
        Need("OpenID provider", find_oidc, "WARPDECK_OIDC", "scripts/install_oidc.sh"),
    )
}
_OF_FIXTURES = {
    "postgres": ["PostgreSQL"],
    "nginx": ["nginx"],
    "composed": ["PostgreSQL", "nginx"],
    "certified": ["OpenID provider", "nginx"],
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that start a real profiler or read every report by the tools that they need."""
    for item in items:
        fixtures = _fixtures(item)
        if fixtures & {"nsys", "ncu"} or _reads_corpus(fixtures):
            item.add_marker("nsight")
        if "every_report" in fixtures or item.get_closest_marker("nsight"):
            item.add_marker("integration")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip or fail a test with missing programs before its fixtures are set up."""
    _require(needed(item))


def require(name: str) -> None:
    """Skip or fail a test from within a fixture that only some of its parameters use."""
    _require([NEEDS[name]])


def _require(wanted: list[Need]) -> None:
    missing = [need for need in wanted if need.find() is None]
    if not missing:
        return
    if os.environ.get(REQUIRED, "").strip().lower() == "required":
        pytest.fail("; ".join(need.reason for need in missing), pytrace=False)
    pytest.skip(missing[0].reason)


def needed(item: pytest.Item) -> list[Need]:
    """Return the programs that a test needs, by its fixtures and markers.

    The marker ``nsight("ncu")`` names a program; plain ``nsight`` means nsys.
    """
    fixtures = _fixtures(item)
    names = fixtures & {"nsys", "ncu"}
    names.update(*(marker.args for marker in item.iter_markers("nsight")))
    if _reads_corpus(fixtures) or (item.get_closest_marker("nsight") and not names):
        names.add("nsys")
    if item.get_closest_marker("browser"):
        names.add("Chromium")
    names.update(name for fixture in fixtures & _OF_FIXTURES.keys() for name in _OF_FIXTURES[fixture])
    return [need for name, need in NEEDS.items() if name in names]


def _fixtures(item: pytest.Item) -> set[str]:
    """Return the fixtures of a test, without parameters that merely have the name of one."""
    parameters = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    return set(getattr(item, "fixturenames", ())) - set(parameters)


def _reads_corpus(fixtures: set[str]) -> bool:
    """Return True if a test reads the corpus, most of which only nsys converts; the samples need no tool."""
    return "every_report" in fixtures and CORPUS.exists()


def _to_install() -> list[str]:
    return sorted({need.script for need in NEEDS.values() if not need.hidden and need.find() is None})


if __name__ == "__main__":
    print("\n".join(_to_install()))
