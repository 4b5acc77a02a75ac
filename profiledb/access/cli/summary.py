"""``warpdeck summary REPORT``: print the answers of the pages as Markdown."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from profiledb import terminal
from profiledb.access.cli.params import OUTPUT, PARAM, REPORT, STARTUP, parse_params

if TYPE_CHECKING:
    from profiledb.library.library import Library


def add(commands: Any, common: argparse.ArgumentParser) -> None:
    command = terminal.add(
        commands, "summary", "print the answers of the pages as Markdown", "my.nsys-rep -o summary.md", parents=[common]
    )
    command.add_argument("report", metavar="REPORT", help=REPORT)
    command.add_argument("--param", action="append", default=[], metavar="NAME=VALUE", help=PARAM)
    command.add_argument("--startup", action="store_true", help=STARTUP)
    command.add_argument("-o", "--output", type=Path, metavar="FILE", help=OUTPUT)
    command.set_defaults(command=run)


def run(library: "Library", arguments: argparse.Namespace) -> None:
    """Print the summary, or write it to a file; raise WarpdeckError if that fails."""
    from profiledb.studies.summary import document  # imports pandas, 0.3 s, which other commands do not need

    report = library.find(arguments.report)
    params = document.get_page_params(library, report, parse_params(arguments.param))
    text = document.write_summary(library, report, params, startup=arguments.startup)
    terminal.write(text.encode(), arguments.output)
