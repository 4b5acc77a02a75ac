"""``warpdeck compare A B``: print a comparison, and check a limit for continuous integration."""

import argparse
import math
import sys
from typing import TYPE_CHECKING, Any

from profiledb import terminal
from profiledb.access.cli.params import DEFAULT, REPORT, parse_params
from profiledb.errors import AnalysisError

if TYPE_CHECKING:
    from profiledb.library.library import Library

TABLES = ("kernels", "phases", "copies", "summary")
BASES = ("auto", "total", "step", "share")
METRICS = ("wall", "busy", "kernels", "copies", "memsets", "idle", "launches")
_ABOUT = (
    "Prints what changed from A to B: the verdict on standard error, each kernel beside its match on standard output."
)
_STATUS = (
    "Exit status: 0; 1 if B's wall time (per step if both have steps) exceeds A's by more than --fail-above,\n"
    "or the figure that --metric names; 2 after any error."
)
ABOVE = 1
"""Exit status if B exceeds the limit."""
TROUBLE = 2
"""Exit status of an error, so that an unchecked limit differs from an exceeded one."""


def add(commands: Any, common: argparse.ArgumentParser) -> None:
    command = terminal.add(
        commands, "compare", "compare two Systems reports", "before.nsys-rep after.nsys-rep --fail-above 5%%",
        parents=[common], description=_ABOUT, status=_STATUS,
    )  # fmt: skip
    command.add_argument("a", metavar="A", help=f"report before the change: {REPORT}")
    command.add_argument("b", metavar="B", help="report after the change")
    command.add_argument("--param", action="append", default=[], metavar="NAME=VALUE", help="selection in both reports")
    command.add_argument(
        "--other-param", action="append", default=[], metavar="NAME=VALUE", help="selection in B, if it differs"
    )
    command.add_argument("--table", choices=TABLES, default="kernels", help="rows to print (default: %(default)s)")
    command.add_argument(
        "--basis",
        choices=BASES,
        default="auto",
        help="totals, figures per step, or shares; auto: shares on different GPUs, else per step if both have steps",
    )
    command.add_argument("--format", choices=("csv", "json"), default="csv", help=DEFAULT)
    command.add_argument(
        "--fail-above", type=parse_percent, metavar="PERCENT", help="exit with 1 if B exceeds A by more than this limit"
    )
    command.add_argument(
        "--metric",
        choices=METRICS,
        help="measure of --fail-above, per step if both have steps (default: wall, the figure of the headline)",
    )
    command.set_defaults(command=run, trouble=TROUBLE)


def parse_percent(text: str) -> float:
    """Parse 5, 5% or 5 %; argparse reports a ValueError."""
    value = float(text.strip().removesuffix("%"))
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def run(library: "Library", arguments: argparse.Namespace) -> int:
    """Print the rows on standard output, verdict and limit on standard error; return the exit status."""
    from profiledb.studies import row_text  # imports pandas, which other commands do not need
    from profiledb.studies.compare import answer, columns, matching, verdict

    limit = arguments.fail_above
    if arguments.metric and limit is None:
        raise AnalysisError("--metric needs --fail-above.", hint="Give both, or neither.")
    mine, other = parse_params(arguments.param), parse_params(arguments.other_param)
    reports = [library.find(name) for name in (arguments.a, arguments.b)]
    a, b = answer.gather_side(library, reports[0], mine), answer.gather_side(library, reports[1], {**mine, **other})
    basis = matching.choose_basis(a, b, arguments.basis)
    if arguments.table == "kernels":
        answer.require_kernels(reports, [a, b])
    held = None if limit is None else verdict.check_limit(a, b, limit, arguments.metric or METRICS[0])
    rows = answer.make_table(arguments.table, a, b, basis)
    if arguments.format == "json":
        print(rows.to_json(orient="records", indent=1, double_precision=15))
    else:
        print(row_text.format_csv(rows, columns.TABLES[arguments.table]), end="")
    if matching.has_other_gpus(a, b):
        terminal.say(f"Different GPUs: {', '.join(a.gpus)} and {', '.join(b.gpus)}.", sys.stderr)
    for sentence in (
        verdict.state_scope(a, b),
        verdict.state_headline(a, b),
        verdict.state_figures(a, b),
        verdict.explain_change(a, b),
        verdict.state_outside(a, b),
    ):
        if sentence:
            terminal.say(sentence, sys.stderr)
    if held is None:
        return 0
    terminal.say(held[1], sys.stderr)
    return ABOVE if held[0] else 0
