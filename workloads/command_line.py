"""The parser of all commands here: an example and the exit statuses in each help, one line for each error."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn

STATUS = "Exit status: 0; 1 after an error; 2 for a wrong command line."
WRONG = 2
"""Exit status of a command line that was not understood."""


class Parser(argparse.ArgumentParser):
    """A parser whose help ends with `example` and the exit statuses, and whose errors are one line."""

    def __init__(self, *, example: str = "", status: str = STATUS, **options: Any) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)  # an example stays on its line
        super().__init__(epilog=f"Example: %(prog)s {example}".rstrip() + f"\n{status}", **options)

    def error(self, message: str) -> NoReturn:
        """End the program with one line."""
        self.exit(WRONG, f"{self.prog}: {message}. Try: {self.prog} --help\n")
