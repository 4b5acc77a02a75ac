"""Shared parts of all commands: parser, plain output on a terminal, exit statuses, no traceback."""

import argparse
import contextlib
import io
import os
import sys
import textwrap
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from profiledb.errors import CatalogError, DamagedError, RefusedError, WarpdeckError
from profiledb.words import visible

if TYPE_CHECKING:
    from rich.progress import Progress

FAILED = 1
USAGE = 2
"""Exit status of a command line that was not understood, and of a damaged library."""
INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells use it."""
STATUS = "Exit status: 0; 1 after an error; 2 for a wrong command line or a damaged library."
_COLUMNS = 80


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line; text from file names cannot affect the terminal."""

    def __init__(self, *, description: str = "", **options: Any) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)  # an example keeps its line
        paragraphs = (textwrap.fill(paragraph, _COLUMNS) for paragraph in description.split("\n\n"))
        super().__init__(description="\n\n".join(paragraphs), **options)

    def error(self, message: str) -> NoReturn:
        """Print one line and exit."""
        self.exit(USAGE, f"{self.prog}: {visible(message)}. Try: {self.prog} --help\n")


def group_commands(groups: Mapping[str, Sequence[str]]) -> type[argparse.HelpFormatter]:
    """Return a formatter that lists the commands of a parser in groups, each under its heading."""

    class GroupedHelp(argparse.RawDescriptionHelpFormatter):
        def _iter_indented_subactions(self, action: Any) -> Generator[argparse.Action, None, None]:
            listed = {command.dest: command for command in super()._iter_indented_subactions(action)}
            for heading, names in groups.items() if listed else ():
                yield argparse.Action([], heading, metavar=f"{heading}:")
                self._indent()
                yield from (listed[name] for name in names)
                self._dedent()

    return GroupedHelp


def add(
    commands: Any, name: str, summary: str, example: str, status: str = STATUS, **options: Any
) -> argparse.ArgumentParser:
    """Add a command to a parser.

    Args:
        commands: result of ``add_subparsers``.
        name: the command.
        summary: its purpose, without capital letter and full stop.
        example: arguments of a call, for the end of the help.
        status: meaning of the exit status, below the example.
        options: further arguments of the parser; ``description`` replaces the summary in the command's own help.
    """
    about = f"{summary[:1].upper()}{summary[1:]}.\n\n{options.pop('description', '')}".strip()
    options.setdefault("epilog", f"Example: %(prog)s {example}\n{status}")
    command: argparse.ArgumentParser = commands.add_parser(name, help=summary, description=about, **options)
    return command


def say(text: str, file: TextIO | None = None) -> None:
    """Print untrusted text on one line, without escape sequences and line breaks."""
    print(visible(text), file=file or sys.stdout, flush=True)


def write(content: bytes, to: Path | None) -> None:
    """Write the output of a command to a file, or to standard output if none is named.

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
    """Return True if progress may be drawn: on a terminal with cursor control, unless NO_COLOR asks for plain lines."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") in ("dumb", "")
    return (stream or sys.stdout).isatty() and not plain


def show_progress() -> "Progress":
    """Return a progress display: a bar, text without markup, and the elapsed time of each task."""
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    words = TextColumn("{task.description}", markup=False)
    return Progress(SpinnerColumn(), BarColumn(bar_width=24), words, TimeElapsedColumn(), transient=True)


def run_guarded(action: Callable[[], int | None], trouble: int = FAILED, damaged: int = FAILED) -> int:
    """Run a command and return its exit status; print an error as one line on standard error.

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
        say(describe_error(error), sys.stderr)
        return damaged if isinstance(error, (CatalogError, DamagedError)) else trouble
    return status


def describe_error(error: Exception) -> str:
    """Describe an error for people."""
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
    """Discard buffered output, so that the interpreter's last flush does not fail."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
