"""``warpdeck critical_path REPORT``: what the length of the steps consists of, and the slack of everything else."""

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
        commands, "critical_path", "list what the length of the steps consists of, and the slack of the rest",
        "my.nsys-rep --by range --step 12", parents=[common],
        description="It replays the calls, copies and kernels of the steps and follows back what each of them waited"
        " for. docs/whatif.md says how.",
    )  # fmt: skip
    command.add_argument("report", metavar="REPORT", help=REPORT)
    command.add_argument("--by", choices=("kernel", "range", "operator"), default="kernel", help=DEFAULT)
    command.add_argument("--step", type=int, metavar="N", help="one step instead of all that are replayed")
    command.add_argument("--format", choices=("json", "md"), default="md", help=DEFAULT)
    command.add_argument("-o", "--output", type=Path, metavar="FILE", help=OUTPUT)
    command.set_defaults(command=run)


def run(library: "Library", arguments: argparse.Namespace) -> None:
    """Print the table, or write it to a file."""
    import json

    from profiledb.replay import path_table
    from profiledb.studies.scaling.family import find_ranks

    report = library.find(arguments.report)
    table = path_table.read_path(library, report.id, arguments.by, arguments.step, find_ranks(library, report))
    if arguments.format == "json":
        text = json.dumps(path_table.record(report, table), indent=1, ensure_ascii=False) + "\n"
    else:
        text = path_table.format_markdown(report, table)
    terminal.write(text.encode(errors="replace"), arguments.output)
