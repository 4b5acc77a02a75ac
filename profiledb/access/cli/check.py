"""``warpdeck check NEW --against SERIES``: a gate for continuous integration."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from profiledb import terminal
from profiledb.access.cli.params import DEFAULT, OUTPUT, REPORT
from profiledb.errors import AnalysisError, ReportNotFoundError

if TYPE_CHECKING:
    from profiledb.library.library import Library

WORSE = 1
"""Exit status of a report that is worse than allowed."""
MEASURES = (
    "wall_ns", "busy_ns", "kernel_ns", "idle_ns", "copy_ns", "memset_ns", "launches", "copy_bytes", "memory_bytes",
    "mfu_pct", "energy_j", "findings",
)  # fmt: skip
RUN_MEASURES = ("wall_ns", "compute_ns", "exposed_ns", "held_ns", "late_ns", "idle_ns", "copy_ns", "findings")
_ABOUT = (
    "Compares a report with the last level of a series, the reports of a label, or one report, and with budgets."
    " It fails if a measure is worse by more than its limit and by more than the scatter of the reports."
)
_STATUS = "Exit status: 0; 1 if the report is worse or above a budget; 2 after any error, and where nothing compares."


def add(commands: Any, common: argparse.ArgumentParser) -> None:
    command = terminal.add(
        commands, "check", "say whether a new report is worse than others, for continuous integration",
        "new.nsys-rep --against series --budget budget.toml --format md", parents=[common], description=_ABOUT,
        status=_STATUS,
    )  # fmt: skip
    command.add_argument("report", metavar="NEW", help=f"the new report: {REPORT}")
    command.add_argument(
        "--against", default="", metavar="SERIES|LABEL|REPORT",
        help="basis of the comparison: 'series' is that of NEW; series:, label: or report: before a name says which",
    )  # fmt: skip
    command.add_argument("--budget", type=Path, metavar="FILE", help="TOML file of budgets (docs/ci.md)")
    command.add_argument(
        "--run", action="store_true",
        help="NEW and --against are runs on several GPUs, by name or a report; 'series' is its own earlier runs"
        " (told by a NEW that is the name of a run)",
    )  # fmt: skip
    command.add_argument(
        "--measure", action="append", choices=sorted({*MEASURES, *RUN_MEASURES}), metavar="MEASURE",
        help=f"measure that may not be worse; may be repeated (default: wall_ns): {', '.join(MEASURES)}; of a run"
        f" {', '.join(RUN_MEASURES)}",
    )  # fmt: skip
    command.add_argument(
        "--anywhere", action="store_true",
        help="compare although machine, driver, profiler or recorded data differ; of runs ranks or GPU",
    )  # fmt: skip
    command.add_argument("--format", choices=("md", "json", "junit"), default="md", help=DEFAULT)
    command.add_argument("--url", default="", metavar="URL", help="address of the dashboard, for links")
    command.add_argument("-o", "--output", type=Path, metavar="FILE", help=OUTPUT)
    command.set_defaults(command=run, trouble=terminal.USAGE)


def run(library: "Library", arguments: argparse.Namespace) -> int:
    """Print the outcome of the check, or write it to a file."""
    from profiledb import config
    from profiledb.findings import rulebook
    from profiledb.studies import run_check_printout, run_gate
    from profiledb.studies.trends import budget, gate, printout

    measures = arguments.measure or (MEASURES[0],)
    is_run = arguments.run or _names_run(library, arguments.report)
    if unknown := sorted({*measures} - {*(RUN_MEASURES if is_run else MEASURES)}):
        raise AnalysisError(f"{'Runs' if is_run else 'Reports'} have no {', '.join(unknown)}.")
    if is_run:
        if arguments.budget or not arguments.against:
            raise AnalysisError("check --run needs --against, and takes no budget.")
        of_run = run_gate.check_run(library, arguments.report, arguments.against, measures, anywhere=arguments.anywhere)
        text = run_check_printout.format_run_check(of_run, arguments.format, arguments.url)
        terminal.write(text.encode(), arguments.output)
        return WORSE if of_run.fails else 0
    if not (arguments.against or arguments.budget):
        raise AnalysisError(
            "check needs --against or --budget.", hint="--against series takes the report's own series."
        )
    allowed = budget.Budget()
    if arguments.budget:
        allowed = budget.read_budget(arguments.budget, list(rulebook.load(config.load().rules)))
    checked = gate.check_report(
        library,
        library.find(arguments.report),
        arguments.against,
        allowed,
        measures,
        anywhere=arguments.anywhere,
    )
    terminal.write(printout.format_check(checked, arguments.format, arguments.url).encode(), arguments.output)
    return WORSE if checked.fails else 0


def _names_run(library: "Library", asked: str) -> bool:
    """Return True if this is the name of a run and of no report."""
    from profiledb.studies import run_lookup

    try:
        library.find(asked)
    except ReportNotFoundError:
        return any(one.name == asked for one in run_lookup.list_runs(library))
    return False
