"""Parser of all workload commands: help with an example and the exit statuses, and one-line errors."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from typing import Any, NoReturn

from .errors import WorkloadError

STATUS = "Exit status: 0; 1 after an error; 2 for a wrong command line."
WRONG = 2
"""Exit status of an invalid command line."""


class Parser(argparse.ArgumentParser):
    """A parser whose help ends with `example` and the exit statuses, and whose errors are one line."""

    def __init__(self, *, example: str = "", status: str = STATUS, **options: Any) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)  # keeps an example on its line
        super().__init__(epilog=f"Example: %(prog)s {example}".rstrip() + f"\n{status}", **options)

    def error(self, message: str) -> NoReturn:
        """End the program with one line."""
        self.exit(WRONG, f"{self.prog}: {message}. Try: {self.prog} --help\n")


def choose_names(only: str | None, known: Collection[str], noun: str) -> list[str]:
    """Return the names of an option `--only`, in the order given; without it all that are known."""
    names = list(dict.fromkeys(only.split(",") if only else known))
    for name in names:
        if name not in known:
            raise WorkloadError(f"There is no {noun} called {name!r}: choose from {', '.join(known)}.")
    return names
