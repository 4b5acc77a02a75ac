"""What ``python -m profiledb compare`` takes; without pandas, which the other commands do without."""

import argparse
import math
from typing import Any

TABLES = ("kernels", "phases", "copies", "summary")
BASES = ("auto", "total", "step", "share")
_ABOUT = (
    "Prints what changed from A to B, each kernel beside the same one. Exit status: 0; 1 where"
    " --fail-above is given and B's kernel time, of a step where both have steps, is more than that above A's; 2 after"
    " an error."
)


def add(commands: Any, common: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Adds the command to those of the parser; the caller sets what it runs."""
    command: argparse.ArgumentParser = commands.add_parser(
        "compare", parents=[common], help="compare two Systems reports", description=_ABOUT
    )
    command.add_argument("a", metavar="A", help="report as it was: id, unique prefix of one, or file name")
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
        help="sums, what a step takes, or shares; auto: shares on different GPUs, a step where their numbers differ",
    )
    command.add_argument("--format", choices=("csv", "json"), default="csv")
    command.add_argument(
        "--fail-above", type=percent, metavar="PERCENT", help="exit with 1 where B's kernel time is as much above A's"
    )
    return command


def percent(text: str) -> float:
    """5, 5% or 5 %; argparse turns a ValueError into its own words."""
    value = float(text.strip().removesuffix("%"))
    if not math.isfinite(value):
        raise ValueError(text)
    return value
