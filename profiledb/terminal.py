"""What all commands have in common: their parser, plain words on a terminal, exit statuses, and no traceback."""

import argparse
import contextlib
import io
import os
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from profiledb.errors import CatalogError, DamagedError, RefusedError, WarpdeckError
from profiledb.words import visible

if TYPE_CHECKING:
    from rich.progress import Progress

FAILED = 1
USAGE = 2
"""Exit status of a command that was not understood, and of one that asks a damaged library."""
INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells have it."""
STATUS = "Exit status: 0; 1 after an error; 2 for a wrong command line or a damaged library."
_COLUMNS = 80


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line; what came from file names does nothing on a terminal."""

    def __init__(self, *, description: str = "", **options: Any) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)  # an example stays on its line
        paragraphs = (textwrap.fill(paragraph, _COLUMNS) for paragraph in description.split("\n\n"))
        super().__init__(description="\n\n".join(paragraphs), **options)

    def error(self, message: str) -> NoReturn:
        """Ends the program with one line."""
        self.exit(USAGE, f"{self.prog}: {visible(message)}. Try: {self.prog} --help\n")


def add(
    commands: Any, name: str, summary: str, example: str, status: str = STATUS, **options: Any
) -> argparse.ArgumentParser:
    """Adds a command to those of a parser.

    Args:
        commands: what ``add_subparsers`` gave.
        name: the command.
        summary: what it does, without a capital letter and a full stop.
        example: arguments of a call, for the end of its help.
        status: what its exit status means, below the example.
        options: further arguments of the parser; ``description`` says more than the summary.
    """
    about = f"{summary[:1].upper()}{summary[1:]}.\n\n{options.pop('description', '')}".strip()
    options.setdefault("epilog", f"Example: %(prog)s {example}\n{status}")
    command: argparse.ArgumentParser = commands.add_parser(name, help=summary, description=about, **options)
    return command


def say(text: str, file: TextIO | None = None) -> None:
    """Prints untrusted text on one line: a name with escape sequences or line breaks does nothing to the terminal."""
    print(visible(text), file=file or sys.stdout, flush=True)


def write(content: bytes, to: Path | None) -> None:
    """Writes what a command made: to a file, or to standard output where none is named.

    Raises:
        WarpdeckError: the file cannot be written.
    """
    if to is None:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    try:
        to.write_bytes(content)
    except OSError as error:
        raise WarpdeckError(f"{to} cannot be written: {error.strerror}.") from error


def draws(stream: TextIO | None = None) -> bool:
    """Whether progress may be drawn: on a terminal that moves its cursor, unless NO_COLOR asks for plain lines."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") in ("dumb", "")
    return (stream or sys.stdout).isatty() and not plain


def progress() -> "Progress":
    """Progress as drawn on a terminal: a bar, words that are no markup, and the time since the start of each task."""
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    words = TextColumn("{task.description}", markup=False)
    return Progress(SpinnerColumn(), BarColumn(bar_width=24), words, TimeElapsedColumn(), transient=True)


def guarded(action: Callable[[], int | None], trouble: int = FAILED, damaged: int = FAILED) -> int:
    """Runs a command and returns its exit status; what goes wrong is one line on standard error.

    Args:
        action: the command; None counts as 0.
        trouble: exit status of an error.
        damaged: exit status if a file of the library is damaged.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a name that the terminal cannot show is no error
    try:
        status = action() or 0
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as head, has seen enough
        _close_quietly(sys.stdout)
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        if sys.flags.dev_mode:
            raise
        say(sentence(error), sys.stderr)
        return damaged if isinstance(error, (CatalogError, DamagedError)) else trouble
    return status


def sentence(error: Exception) -> str:
    """What went wrong, for people."""
    if isinstance(error, RefusedError):
        return f"{error.message} It says: {error.detail}. {error.hint}".strip()
    if isinstance(error, WarpdeckError):
        return f"{error.message} {error.hint}".strip()
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."
    return (
        f"Warpdeck failed: {type(error).__name__}: {error}. Please report this with what the same command prints"
        " under PYTHONDEVMODE=1."
    )


def _close_quietly(stream: TextIO) -> None:
    """Lets what is still buffered go nowhere, so that the interpreter's last flush does not complain."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
