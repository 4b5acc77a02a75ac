"""``warpdeck open FILE...``: import files, show progress, and open the browser on the first report."""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from profiledb import config, terminal
from profiledb.config import Settings
from profiledb.errors import ConfigError, WarpdeckError
from warpdeck.serve import add_server_arguments, require_free

if TYPE_CHECKING:
    from profiledb.library.inbox import Inbox
    from profiledb.library.library import Library
    from profiledb.library.server_file import Serving
    from warpdeck.import_progress import ImportResult
    from warpdeck.inbox_copy import Copied
    from warpdeck.server_process import StartedServer

ABOUT = (
    "If a server already serves the library, it is used. Otherwise one is started, without the sample reports, and runs"
    " until Ctrl-C. The browser opens the first of several files; a link is printed for each. Without a file, the"
    " Library opens."
)
EPILOG = (
    "Example: %(prog)s my.nsys-rep other.ncu-rep\n"
    "Exit status: 0; 1 if a file failed; 2 for a wrong command line; 130 after Ctrl-C before all files were read."
)


def add_command(commands: Any) -> None:
    command = terminal.add(
        commands, "open", "take reports in and open the browser on them", "", description=ABOUT, epilog=EPILOG
    )
    command.add_argument(
        "files", metavar="FILE", nargs="*", type=Path, help="a report, an export, or a folder of Parquet files"
    )
    command.add_argument("--no-browser", action="store_true", help="print the links, open no browser")
    add_server_arguments(command)
    command.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Open the files; return when all are imported, or when the server that was started here ends."""
    return terminal.run_guarded(lambda: _run_open(arguments))


def _run_open(arguments: argparse.Namespace) -> int:
    settings = config.load(inbox=arguments.inbox, library=arguments.library)
    return open_files(arguments.files, settings, port=arguments.port, no_browser=arguments.no_browser)


def open_files(files: Sequence[Path], settings: Settings, port: int | None = None, *, no_browser: bool = False) -> int:
    """Import files and open them; return once they are imported, or once the server that was started here ends.

    Raises:
        WarpdeckError: no server can be started, or none imports files.
    """
    from profiledb.library.locations import refuse_newer

    refuse_newer(settings)
    with _find_or_start_server(settings, port) as (serving, started):
        show: Callable[[str], None] = _print_only if no_browser else _choose_browser(serving)
        failed = _import_files(files, settings, serving, show, started.require if started else None)
        if started:
            terminal.say("The dashboard runs until Ctrl-C.")
            with suppress(KeyboardInterrupt):
                started.wait()
                started.require()
    return terminal.FAILED if failed else 0


@contextmanager
def _find_or_start_server(settings: Settings, port: int | None) -> "Iterator[tuple[Serving, StartedServer | None]]":
    """Yield the running server, or one that ends with this command.

    Raises:
        WarpdeckError: the server does not start.
    """
    from warpdeck import server_process

    started = None
    try:
        with server_process.hold_server_lock(settings):
            serving = server_process.find_server(settings)
            if serving is None:
                if port:
                    require_free("localhost", port)
                terminal.say("Starting the dashboard.")
                started = server_process.StartedServer.start(settings, port)
                serving = started.wait_until_serving(settings)
        yield serving, started
    finally:
        if started:
            started.stop()


def _import_files(
    paths: Sequence[Path],
    settings: Settings,
    serving: "Serving",
    show: Callable[[str], None],
    require_server: Callable[[], None] | None,
) -> bool:
    """Import files, print a link for each and show the first; return True if one failed."""
    from profiledb.library.locations import open_library
    from warpdeck import browser, import_progress, inbox_copy, sources

    if not paths:
        terminal.say(browser.make_link(serving))
        show(browser.make_link(serving))
        return False
    library, inbox = open_library(settings), choose_inbox(settings, serving)
    failed = False
    files: list[Copied] = []
    with import_progress.show_steps() as progress:
        for source in sources.list_sources(paths):
            try:
                files.append(
                    inbox_copy.copy_source(source, library, inbox, lambda name: progress.show(name, "reading"))
                )
            except WarpdeckError as error:
                terminal.say(terminal.describe_error(error), sys.stderr)
                failed = True
        first = _FirstReport(files, show)
        for result in import_progress.follow_files(library, files, progress, make_check(settings, require_server)):
            address = _print_result(result, library, serving)
            first.add(result, address)
            failed |= not address
    return failed


class _FirstReport:
    """Shows the first of several files that has become a report, once all files before it have failed."""

    def __init__(self, files: Sequence["Copied"], show: Callable[[str], None]) -> None:
        self._pending = list(files)
        self._addresses: dict[Copied, str] = {}
        self._show = show

    def add(self, result: "ImportResult", address: str) -> None:
        """Record a file's address; an empty one means that it failed."""
        self._addresses[result.file] = address
        while self._pending and self._pending[0] in self._addresses:
            if first := self._addresses[self._pending.pop(0)]:
                self._pending.clear()
                self._show(first)


def _print_result(result: "ImportResult", library: "Library", serving: "Serving") -> str:
    """Print a file's result and return the link to its report, or an empty string."""
    from warpdeck import browser

    if result.report_id is None:
        terminal.say(result.message, sys.stderr)
        return ""
    address = browser.make_link(serving, library.find(result.report_id))
    terminal.say(f"{result.file.name}  {address}")
    return address


def _print_only(_: str) -> None:
    """Do nothing: the link is printed anyway."""


def _choose_browser(serving: "Serving") -> Callable[[str], None]:
    from warpdeck import browser

    return lambda address: browser.open_link(address, serving)


def make_check(settings: Settings, require_server: Callable[[], None] | None) -> Callable[[], None]:
    """Return a function that raises WarpdeckError once no more files can be imported."""
    from profiledb.library import worker_lock
    from warpdeck.import_progress import WorkerPresence

    presence = WorkerPresence(lambda: worker_lock.is_library_locked(settings.library))

    def require() -> None:
        if require_server:
            require_server()
        presence.require()

    return require


def choose_inbox(settings: Settings, serving: "Serving | None") -> "Inbox":
    """Return the inbox, spelled as the server's worker does.

    Raises:
        ConfigError: the server has another inbox.
    """
    from profiledb.library.locations import open_inbox

    if serving is None:
        return open_inbox(settings)
    inbox = open_inbox(settings).spelled(serving.inbox)
    if inbox is None:
        raise ConfigError(
            f"The dashboard that runs takes files from {serving.inbox}, not from {settings.inbox_text}.",
            hint="Name it with --inbox.",
        )
    return inbox
