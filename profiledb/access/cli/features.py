"""``warpdeck features REPORT...``: write a table for machine learning, one row per report, task and size."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from profiledb import terminal
from profiledb.access.cli.params import OUTPUT, REPORT
from profiledb.errors import WarpdeckError

if TYPE_CHECKING:
    from profiledb.library.library import Library
    from profiledb.studies.cpu_vs_gpu.features import Format


def add(commands: Any, common: argparse.ArgumentParser) -> None:
    command = terminal.add(
        commands, "features", "write a table for machine learning, a row per report, task and size",
        "tasks.nsys-rep -o features.parquet", parents=[common],
    )  # fmt: skip
    command.add_argument("reports", metavar="REPORT", nargs="+", help=REPORT)
    command.add_argument("--format", choices=("csv", "parquet"), help="default: by the ending of FILE, else csv")
    command.add_argument("-o", "--output", type=Path, metavar="FILE", help=OUTPUT)
    command.set_defaults(command=run)


def run(library: "Library", arguments: argparse.Namespace) -> None:
    """Write the feature table of the reports; print on standard error which reports are left out.

    Raises:
        AnalysisError: none of them has times of tasks.
        WarpdeckError: the file cannot be written, or a Parquet file would go to a terminal.
    """
    from profiledb.studies.cpu_vs_gpu import features

    output = arguments.output
    form: Format = arguments.format or (
        "parquet" if output is not None and output.suffix.lower() == ".parquet" else "csv"
    )
    if form == "parquet" and output is None and sys.stdout.isatty():
        raise WarpdeckError("Parquet cannot be printed on a terminal.", hint="Name a file: -o features.parquet")
    reports = [library.find(name) for name in arguments.reports]
    rows = features.build_table(library, reports, lambda words: terminal.say(words, sys.stderr))
    data = features.encode_table(rows, form)
    terminal.write(data, arguments.output)
