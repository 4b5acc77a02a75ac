"""``warpdeck html REPORT -o report.html``: write a report as one file that opens without a server."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from profiledb import terminal
from profiledb.access.cli.params import OUTPUT, PARAM, REPORT, STARTUP, parse_params
from profiledb.errors import WarpdeckError

if TYPE_CHECKING:
    from profiledb.library.library import Library


def add(commands: Any, common: argparse.ArgumentParser) -> None:
    command = terminal.add(
        commands, "html", "write a report as one HTML file", "my.nsys-rep -o report.html", parents=[common],
        description="The file holds summary, charts and findings. It needs no server, no network and no scripts.",
    )  # fmt: skip
    command.add_argument("report", metavar="REPORT", help=REPORT)
    command.add_argument("--param", action="append", default=[], metavar="NAME=VALUE", help=PARAM)
    command.add_argument("--startup", action="store_true", help=STARTUP)
    command.add_argument(
        "--address", default="", metavar="URL", help="address of the dashboard, which the file links to"
    )
    command.add_argument("-o", "--output", type=Path, metavar="FILE", help=OUTPUT)
    command.set_defaults(command=run)


def run(library: "Library", arguments: argparse.Namespace) -> None:
    """Write the file or print it; raise WarpdeckError if it cannot be written."""
    from profiledb.studies.html import document
    from profiledb.studies.summary.document import get_page_params

    if arguments.address and not arguments.address.startswith(("http://", "https://")):
        raise WarpdeckError("An address starts with http:// or https://.")
    report = library.find(arguments.report)
    params = get_page_params(library, report, parse_params(arguments.param))
    text = document.write_page(library, report, params, startup=arguments.startup, address=arguments.address)
    terminal.write(text.encode(errors="replace"), arguments.output)
