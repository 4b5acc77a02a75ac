"""``warpdeck run ANALYSIS REPORT``: print the rows of an analysis, or of a recipe over all ranks of a run."""

import argparse
import sys
from typing import TYPE_CHECKING, Any

from profiledb import terminal
from profiledb.access.cli.params import DEFAULT, PARAM, REPORT, parse_params
from profiledb.errors import AnalysisError

if TYPE_CHECKING:
    import pandas as pd

    from profiledb.library.library import Library


def add(commands: Any, common: argparse.ArgumentParser) -> None:
    command = terminal.add(
        commands, "run", "run an analysis on a report, or on all ranks of a run",
        "cuda_gpu_kern_sum my.nsys-rep --param range=step_2", parents=[common],
    )  # fmt: skip
    command.add_argument("analysis", metavar="ANALYSIS", help="name of the analysis; the command analyses lists them")
    asked = command.add_mutually_exclusive_group(required=True)
    asked.add_argument("report", metavar="REPORT", nargs="?", help=REPORT)
    asked.add_argument(
        "--run", metavar="RUN", dest="of_run",
        help=f"all ranks of this run, as the recipe of this name in nsys: its name, or {REPORT}",
    )  # fmt: skip
    command.add_argument(
        "--per", choices=("name", "rank"), default="name",
        help="with --run: rows of a summary, one per name over all ranks, or one per name and rank (default: name)",
    )  # fmt: skip
    command.add_argument(
        "--diff",
        metavar="RUN",
        help="with --run: the numbers of a summary less those of this run, as nsys' recipe diff",
    )
    command.add_argument("--param", action="append", default=[], metavar="NAME=VALUE", help=PARAM)
    command.add_argument("--format", choices=("csv", "json"), default="csv", help=DEFAULT)
    command.set_defaults(command=run)


def run(library: "Library", arguments: argparse.Namespace) -> None:
    """Print the rows as CSV or JSON."""
    from profiledb.query import analysis, output

    params = parse_params(arguments.param)
    if arguments.diff is not None and arguments.of_run is None:
        raise AnalysisError("--diff needs --run.")
    if arguments.of_run is not None:
        _print_recipe(library, arguments, params)
        return
    report = library.find(arguments.report)
    if arguments.format == "json":
        _print_json(analysis.run(library, report.id, arguments.analysis, params))
    else:
        output.write_csv(library, report, arguments.analysis, params, sys.stdout.buffer)


def _print_recipe(library: "Library", arguments: argparse.Namespace, params: dict[str, Any]) -> None:
    from profiledb import spreadsheet
    from profiledb.studies import run_lookup
    from profiledb.studies.runs import recipes
    from profiledb.studies.trends import summary_refresh

    summary_refresh.refresh(library)
    named_run = run_lookup.require_named(library, arguments.of_run)
    other = run_lookup.require_named(library, arguments.diff) if arguments.diff is not None else None
    rows = recipes.run_recipe(
        library, named_run, arguments.analysis, params, by_rank=arguments.per == "rank", without=other
    )
    if arguments.format == "json":
        _print_json(rows)
    else:
        sys.stdout.write(spreadsheet.format_csv(rows))


def _print_json(rows: "pd.DataFrame") -> None:
    print(rows.to_json(orient="records", indent=1, date_format="iso", double_precision=15))
