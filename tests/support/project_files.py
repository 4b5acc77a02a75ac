"""The files of the project."""

import ast
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT


def walk_statements(tree: ast.AST) -> Iterator[ast.stmt]:
    """Yield the statements of a file at any depth, without their expressions, which are most of a file."""
    for part in ("body", "handlers", "cases", "orelse", "finalbody"):
        for node in getattr(tree, part, ()):
            if isinstance(node, ast.stmt):
                yield node
            yield from walk_statements(node)


def list_tracked_files() -> list[Path]:
    """Return all files of the project: those that git tracks, and new ones that it does not ignore."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    return [path for name in listed if name and (path := ROOT / name).is_file()]
