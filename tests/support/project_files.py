"""The files of the project."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT


def list_tracked_files() -> list[Path]:
    """Return all files of the project: those that git tracks, and new ones that it does not ignore."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    return [path for name in listed if name and (path := ROOT / name).is_file()]
