"""What was changed since the last commit and by it: its tests and cases never wait for their turn (sweep.py).

Of a merge only what is not committed counts, and of more than ``MOST`` files none: then everything was changed, which
is what ``make test-all`` is for. Where git knows nothing, nothing was changed.
"""

import os
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).resolve().parents[2]
VARIABLE = "WARPDECK_TEST_CHANGED"
"""Paths from the root, one a line. The processes of pytest-xdist inherit it: all of them collect the same tests."""
MOST = 100
VIEWS = ("app", "views")
_ASK = (
    ("diff", "--name-only", "HEAD"),
    ("ls-files", "--others", "--exclude-standard"),
    ("diff-tree", "--no-commit-id", "--name-only", "-r", "HEAD"),
)


def ask(root: Path = ROOT) -> str:
    """What git says was changed in a checkout, a path a line."""
    try:
        said = [subprocess.run(["git", *one], cwd=root, capture_output=True, text=True, check=False) for one in _ASK]
    except OSError:
        return ""
    paths = {line for one in said if one.returncode == 0 for line in one.stdout.splitlines()}
    return "\n".join(sorted(paths)) if len(paths) <= MOST else ""


os.environ.setdefault(VARIABLE, ask())


@dataclass(frozen=True)
class _Changed:
    """Paths of what was changed, what it is about, and its names, with their endings and without."""

    paths: frozenset[str]
    subjects: frozenset[str]
    names: frozenset[str]


def module(nodeid: str) -> bool:
    """Whether a module of tests was changed, or what it is called after: ``ingest/tools.py`` has ``test_tools.py``.

    The files of a page's folder share its name: ``app/views/memory/`` has ``test_memory_page.py``.
    """
    changed, path = _changed(os.environ[VARIABLE]), nodeid.partition("::")[0]
    words = PurePosixPath(path).stem.split("_")[1:]
    return path in changed.paths or any("_".join(words[:n]) in changed.subjects for n in range(1, len(words) + 1))


def case(value: object) -> bool:
    """Whether a case is called like a changed file, with its ending or without: a sample, an analysis, a rule."""
    return isinstance(value, str) and value in _changed(os.environ[VARIABLE]).names


def item(one: pytest.Item) -> bool:
    """Whether a test, or one of its parameters, belongs to a changed file."""
    spec = getattr(one, "callspec", None)
    return module(one.nodeid) or any(map(case, spec.params.values() if spec else ()))


@cache
def _changed(said: str) -> _Changed:
    paths = [PurePosixPath(line) for line in said.splitlines()]
    return _Changed(
        paths=frozenset(map(str, paths)),
        subjects=frozenset(map(_subject, paths)),
        names=frozenset(name for path in paths for name in (path.name, path.stem)),
    )


def _subject(path: PurePosixPath) -> str:
    return path.parts[2] if path.parts[:2] == VIEWS and len(path.parts) > 3 else path.stem
