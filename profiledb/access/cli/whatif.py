"""``warpdeck whatif REPORT``: how long the program would take with a change."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from profiledb import terminal
from profiledb.access.cli.params import DEFAULT, OUTPUT, REPORT

if TYPE_CHECKING:
    from profiledb.library.library import Library


def add(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command to a parser."""
    command = terminal.add(
        commands, "whatif", "predict how long the program would take with a change",
        "my.nsys-rep --change without_waits --change host_code=augment", parents=[common],
        description="It replays the calls, copies and kernels of the report with the change. Without --change it tries"
        " every change that applies and lists the best first. Reports of the other ranks of a run are replayed with it."
        " docs/whatif.md has all changes.",
    )  # fmt: skip
    command.add_argument("report", metavar="REPORT", help=REPORT)
    command.add_argument(
        "--change", action="append", default=[], metavar="NAME[=VALUE]", help="a change; may be repeated"
    )
    command.add_argument("--format", choices=("json", "md"), default="md", help=DEFAULT)
    command.add_argument("-o", "--output", type=Path, metavar="FILE", help=OUTPUT)
    command.set_defaults(command=run)


def run(library: "Library", arguments: argparse.Namespace) -> None:
    """Print the predictions, or write them to a file."""
    import json

    from profiledb.replay import output, prediction
    from profiledb.studies.scaling.family import find_ranks

    report = library.find(arguments.report)
    what_if = prediction.predict(library, report.id, prediction.parse(arguments.change), find_ranks(library, report))
    if arguments.format == "json":
        text = json.dumps(output.record(report, what_if), indent=1, ensure_ascii=False) + "\n"
    else:
        text = output.format_markdown(report, what_if)
    terminal.write(text.encode(errors="replace"), arguments.output)
