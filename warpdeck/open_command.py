"""``warpdeck open FILE...``: takes files in, shows progress, and opens the browser on them."""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from profiledb import config, terminal
from profiledb.config import Settings
from profiledb.errors import ConfigError, WarpdeckError
from warpdeck.serve import folders, require_free

if TYPE_CHECKING:
    from profiledb.library.inbox import Inbox
    from profiledb.library.library import Library
    from profiledb.library.server_file import Serving
    from warpdeck.import_progress import Ended
    from warpdeck.inbox_copy import Taken
    from warpdeck.server_process import Started

ABOUT = (
    "If a server already serves the library, it is used. Otherwise one is started, without the sample reports, and runs"
    " until Ctrl-C. The browser opens the first of several files; a link is printed for each. Without a file, the"
    " Library opens."
)
EPILOG = (
    "Example: %(prog)s my.nsys-rep other.ncu-rep\n"
    "Exit status: 0; 1 if a file failed; 2 for a wrong command line; 130 after Ctrl-C before all files were read."
)


def add(commands: Any) -> None:
    """Adds the command to those of the parser."""
    command = terminal.add(
        commands, "open", "take reports in and open the browser on them", "", description=ABOUT, epilog=EPILOG
    )
    command.add_argument(
        "files", metavar="FILE", nargs="*", type=Path, help="a report, an export, or a folder of Parquet files"
    )
    command.add_argument("--no-browser", action="store_true", help="print the links, open no browser")
    folders(command)
    command.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Opens the files; returns when all are read, or if the server was started here, when that ends."""
    return terminal.guarded(lambda: _open(arguments))


def _open(arguments: argparse.Namespace) -> int:
    from profiledb.library.locations import refuse_newer

    settings = config.load(inbox=arguments.inbox, library=arguments.library)
    refuse_newer(settings)
    with _server(settings, arguments.port) as (serving, started):
        show: Callable[[str], None] = _print_only if arguments.no_browser else _shower(serving)
        failed = _take_all(arguments.files, settings, serving, show, started.require if started else None)
        if started:
            terminal.say("The dashboard runs until Ctrl-C.")
            with suppress(KeyboardInterrupt):
                started.wait()
                started.require()
    return terminal.FAILED if failed else 0


@contextmanager
def _server(settings: Settings, port: int | None) -> "Iterator[tuple[Serving, Started | None]]":
    """The server that runs, or one that runs as long as this; raises WarpdeckError."""
    from warpdeck import server_process

    started = None
    try:
        with server_process.alone(settings):
            serving = server_process.find(settings)
            if serving is None:
                if port:
                    require_free("localhost", port)
                terminal.say("Starting the dashboard.")
                started = server_process.Started.start(settings, port)
                serving = started.serving(settings)
        yield serving, started
    finally:
        if started:
            started.stop()


def _take_all(
    paths: Sequence[Path],
    settings: Settings,
    serving: "Serving",
    show: Callable[[str], None],
    require_server: Callable[[], None] | None,
) -> bool:
    """Takes files in, prints a link for each and shows the first; returns whether one failed."""
    from profiledb.library.locations import open_library
    from warpdeck import browser, import_progress, inbox_copy

    if not paths:
        terminal.say(browser.link(serving))
        show(browser.link(serving))
        return False
    library, inbox = open_library(settings), _inbox(settings, serving)
    failed = False
    taken: list[Taken] = []
    with import_progress.steps() as shown:
        for source in inbox_copy.sources(paths):
            try:
                taken.append(inbox_copy.take(source, library, inbox, lambda name: shown.show(name, "reading")))
            except WarpdeckError as error:
                terminal.say(terminal.sentence(error), sys.stderr)
                failed = True
        first = _First(taken, show)
        for ended in import_progress.follow(library, taken, shown, _requirement(settings, require_server)):
            address = _told(ended, library, serving)
            first.ended(ended, address)
            failed |= not address
    return failed


class _First:
    """Shows the first of several files that has become a report, as soon as all before it have failed."""

    def __init__(self, files: Sequence["Taken"], show: Callable[[str], None]) -> None:
        self._left = list(files)
        self._addresses: dict[Taken, str] = {}
        self._show = show

    def ended(self, ended: "Ended", address: str) -> None:
        """Takes note of a file; no address is one that failed."""
        self._addresses[ended.taken] = address
        while self._left and self._left[0] in self._addresses:
            if found := self._addresses[self._left.pop(0)]:
                self._left.clear()
                self._show(found)


def _told(ended: "Ended", library: "Library", serving: "Serving") -> str:
    """Prints what became of a file; returns the link to its report, or nothing."""
    from warpdeck import browser

    if ended.report_id is None:
        terminal.say(ended.words, sys.stderr)
        return ""
    address = browser.link(serving, library.find(ended.report_id))
    terminal.say(f"{ended.taken.name}  {address}")
    return address


def _print_only(_: str) -> None:
    """The link stands on the terminal."""


def _shower(serving: "Serving") -> Callable[[str], None]:
    from warpdeck import browser

    return lambda address: browser.show(address, serving)


def _requirement(settings: Settings, require_server: Callable[[], None] | None) -> Callable[[], None]:
    """Raises where no file will be read any more."""
    from app import worker_process
    from warpdeck.import_progress import Held

    held = Held(lambda: worker_process.is_library_locked(settings.library))

    def require() -> None:
        if require_server:
            require_server()
        held.require()

    return require


def _inbox(settings: Settings, serving: "Serving") -> "Inbox":
    """The inbox as the worker of the server spells it; raises ConfigError if that is another one than ours."""
    from profiledb.library.locations import open_inbox

    theirs = open_inbox(settings).spelled(serving.inbox)
    if theirs is None:
        raise ConfigError(
            f"The dashboard that runs takes files from {serving.inbox}, not from {settings.inbox_text}.",
            hint="Name it with --inbox.",
        )
    return theirs
