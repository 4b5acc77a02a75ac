"""``python -m profiledb compare A B``: the rows of a comparison, and a limit that a continuous integration can hold."""

import argparse
import math
import sys
from typing import Any

from profiledb.cli.params import REPORT, given
from profiledb.errors import AnalysisError
from profiledb.report.library import Library

TABLES = ("kernels", "phases", "copies", "summary")
BASES = ("auto", "total", "step", "share")
METRICS = ("wall", "busy", "kernels", "copies", "memsets", "idle", "launches")
_ABOUT = (
    "Prints what changed from A to B: the verdict on standard error, each kernel beside the same one on standard"
    " output. Exit status: 0; 1 where --fail-above is given and B's wall time, of a step where both have steps, is more"
    " than that above A's (--metric judges another figure); 2 after an error."
)
ABOVE = 1
"""Exit status where B is above the limit."""
TROUBLE = 2
"""Exit status of an error, so that a limit that was never looked at is told from one that was not held."""


def add(commands: Any, common: argparse.ArgumentParser) -> None:
    """Adds the command to those of the parser."""
    command: argparse.ArgumentParser = commands.add_parser(
        "compare", parents=[common], help="compare two Systems reports", description=_ABOUT
    )
    command.add_argument("a", metavar="A", help=f"report as it was: {REPORT}")
    command.add_argument("b", metavar="B", help="report as it is")
    command.add_argument("--param", action="append", default=[], metavar="NAME=VALUE", help="selection of both")
    command.add_argument(
        "--other-param", action="append", default=[], metavar="NAME=VALUE", help="of B where it is another one"
    )
    command.add_argument("--table", choices=TABLES, default="kernels", help="what to print")
    command.add_argument(
        "--basis",
        choices=BASES,
        default="auto",
        help="sums, what a step takes, or shares; auto: shares on different GPUs, else a step where both have steps",
    )
    command.add_argument("--format", choices=("csv", "json"), default="csv")
    command.add_argument(
        "--fail-above", type=percent, metavar="PERCENT", help="exit with 1 where B is more than that above A"
    )
    command.add_argument(
        "--metric",
        choices=METRICS,
        help="what --fail-above judges, of a step where both have steps (default: wall, the figure of the headline)",
    )
    command.set_defaults(command=run, trouble=TROUBLE)


def percent(text: str) -> float:
    """5, 5% or 5 %; argparse turns a ValueError into its own words."""
    value = float(text.strip().removesuffix("%"))
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def run(library: Library, arguments: argparse.Namespace) -> int:
    """Prints the rows on standard output, verdict and limit on standard error; returns the exit status."""
    from profiledb.studies import formatted  # it takes pandas along, which the other commands do without
    from profiledb.studies.compare import answer, columns, matching, verdict

    limit = arguments.fail_above
    if arguments.metric and limit is None:
        raise AnalysisError("--metric says what --fail-above judges.", hint="Give both, or neither.")
    mine, other = given(arguments.param), given(arguments.other_param)
    reports = [library.find(name) for name in (arguments.a, arguments.b)]
    a, b = answer.side(library, reports[0], mine), answer.side(library, reports[1], {**mine, **other})
    basis = matching.choose_basis(a, b, arguments.basis)
    if arguments.table == "kernels":
        answer.need_kernels(reports, [a, b])
    held = None if limit is None else verdict.limit(a, b, limit, arguments.metric or METRICS[0])
    rows = answer.table(arguments.table, a, b, basis)
    if arguments.format == "json":
        print(rows.to_json(orient="records", indent=1, double_precision=15))
    else:
        print(formatted.csv_text(rows, columns.TABLES[arguments.table]), end="")
    if matching.other_gpus(a, b):
        print(f"Different GPUs: {', '.join(a.gpus)} and {', '.join(b.gpus)}.", file=sys.stderr)
    for sentence in (verdict.headline(a, b), verdict.figures(a, b), verdict.moved(a, b), verdict.outside(a, b)):
        if sentence:
            print(sentence, file=sys.stderr)
    if held is None:
        return 0
    print(held[1], file=sys.stderr)
    return ABOVE if held[0] else 0
