"""``python -m profiledb``: the library from the command line."""

import argparse
import sys
from pathlib import Path

from profiledb import config
from profiledb.cli import analyses, compare, crossover, export_stats, features, link, run, scaling, summary
from profiledb.cli import list as listing
from profiledb.errors import CatalogError, DamagedError, WarpdeckError
from profiledb.report.library import Library

COMMANDS = (listing, run, summary, export_stats, link, compare, crossover, features, scaling, analyses)
"""In the order of the help; each has ``add`` and ``run``."""


def main(argv: list[str] | None = None) -> int:
    """Runs a command; exit status 0, or after an error in one line on standard error 1: 2 where a file of the library
    is damaged, and of ``compare``."""
    arguments = _parser().parse_args(argv)
    status: int | None = 0
    try:
        status = arguments.command(Library(config.load(library=arguments.library).library), arguments)
    except WarpdeckError as error:
        print(f"{error.message} {error.hint}".strip(), file=sys.stderr)
        return 2 if isinstance(error, (CatalogError, DamagedError)) else arguments.trouble
    except BrokenPipeError:  # the reader, such as head, has seen enough
        sys.stderr.close()
    return status or 0


def _parser() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--library", type=Path, help="folder of the converted reports")
    common.set_defaults(trouble=1)
    parser = argparse.ArgumentParser(prog="python -m profiledb", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.add(commands, common)
    return parser
