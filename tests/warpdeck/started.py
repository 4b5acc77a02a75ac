"""``warpdeck open`` in its own process, with a browser that records the addresses that it is asked to open."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from profiledb.library import server_file
from tests.conftest import ROOT, wait_until

RUNS = "The dashboard runs until Ctrl-C."
MODULE = (sys.executable, "-m", "warpdeck")


@dataclass
class Desk:
    """A folder with inbox, library and a browser.

    Args:
        folder: where all of it lies.
        command: how ``warpdeck`` is called.
    """

    folder: Path
    command: Sequence[str] = MODULE
    cwd: Path = ROOT

    def __post_init__(self) -> None:
        script = self.folder / "browser"
        script.write_text(f'#!/bin/sh\nprintf "%s\\n" "$1" >> "{self.folder}/opened"\n')
        script.chmod(0o755)

    @property
    def environment(self) -> dict[str, str]:
        return os.environ | {
            "WARPDECK_DATA": str(self.folder / "data"),
            "WARPDECK_SCAN_S": "0.5",
            "BROWSER": f"{self.folder}/browser %s",
        }

    @property
    def library(self) -> Path:
        return self.folder / "data" / "library"

    def opened(self) -> list[str]:
        """The addresses that the browser was asked to open."""
        file = self.folder / "opened"
        return file.read_text().splitlines() if file.exists() else []

    def run(self, *argv: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
        """A command to its end."""
        return subprocess.run(
            [*self.command, *map(str, argv)],
            env=self.environment | environment, cwd=self.cwd, capture_output=True, text=True, check=False, timeout=200,
        )  # fmt: skip

    @contextmanager
    def running(self, *argv: str | Path) -> Iterator[subprocess.Popen[str]]:
        """A command that serves, once it does."""
        said = self.folder / "said"
        with said.open("w") as file:
            process = subprocess.Popen(
                [*self.command, *map(str, argv)],
                env=self.environment | {"PYTHONUNBUFFERED": "1"}, cwd=self.cwd, stdout=file, stderr=file, text=True,
            )  # fmt: skip
        try:
            wait_until(lambda: process.poll() is not None or self.serves(), 120)
            assert process.poll() is None, said.read_text()
            yield process
        finally:
            process.terminate()
            process.wait(timeout=60)

    def serves(self) -> bool:
        """Whether it serves, and ``open`` has opened all."""
        said = (self.folder / "said").read_text()
        return RUNS in said or ("You can now view" in said and server_file.read_announcement(self.library) is not None)

    def said(self) -> list[str]:
        """The output of ``running`` so far."""
        return (self.folder / "said").read_text().splitlines()
