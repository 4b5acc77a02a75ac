"""``warpdeck export_trace REPORT -o FILE``: write a report for Perfetto."""

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from profiledb import config, terminal
from profiledb.access.cli.params import REPORT, parse_params

if TYPE_CHECKING:
    from profiledb.library.library import Library

PARAM = "the part to write: range=NAME (may be repeated), skip_first, from_ns, to_ns; without any all of the report"


def add(commands: Any, common: argparse.ArgumentParser) -> None:
    command = terminal.add(
        commands, "export_trace", "write the timeline as a trace for Perfetto",
        "my.nsys-rep -o my.pftrace --param range=step_2", parents=[common],
    )  # fmt: skip
    command.add_argument("report", metavar="REPORT", help=REPORT)
    command.add_argument(
        "-o", "--output", metavar="FILE", type=Path, required=True, help="file to write, such as my.pftrace"
    )
    command.add_argument("--param", action="append", default=[], metavar="NAME=VALUE", help=PARAM)
    command.set_defaults(command=run)


def run(library: "Library", arguments: argparse.Namespace) -> None:
    """Write the file, which appears when it is complete, and print its number of events."""
    from profiledb import words
    from profiledb.rules import classes
    from profiledb.selection import model
    from profiledb.timeline import spans, trace
    from profiledb.timeline.store import Timelines

    report = library.find(arguments.report)
    selection = model.parse(parse_params(arguments.param))
    settings = config.load()
    shelf = Timelines(library, classes.load(settings.classes), settings.memory_limit)
    opened = shelf.wait(report.id)
    part = arguments.output.with_name(f".{arguments.output.name}.{os.getpid()}")
    try:
        with shelf.cursor(report.id) as cursor, part.open("wb") as file:
            count = trace.write_trace(cursor, opened, file, spans.find_spans(cursor, opened, selection))
        part.replace(arguments.output)
    finally:
        part.unlink(missing_ok=True)
    terminal.say(f"{words.count(count)} events in {arguments.output}; open it at https://ui.perfetto.dev.")
