"""``warpdeck crossover REPORT``: print the size from which the GPU beats the CPU."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from profiledb import terminal
from profiledb.access.cli.params import DEFAULT, REPORT
from profiledb.words import visible

if TYPE_CHECKING:
    from profiledb.library.library import Library
    from profiledb.studies.cpu_vs_gpu.crossing import Crossover


_HEADINGS = ("task", "basis", "crossing", "95 % interval", "use the GPU from")


def add(commands: Any, common: argparse.ArgumentParser) -> None:
    command = terminal.add(
        commands, "crossover", "find the size from which the GPU beats the CPU", "tasks.nsys-rep", parents=[common]
    )
    command.add_argument("report", metavar="REPORT", help=REPORT)
    command.add_argument("--format", choices=("table", "csv", "json"), default="table", help=DEFAULT)
    command.set_defaults(command=run)


def run(library: "Library", arguments: argparse.Namespace) -> None:
    """Print the crossovers of a report on standard output.

    Raises:
        NotCapturedError: the report has no times of tasks.
    """
    from profiledb.query import analysis
    from profiledb.studies import row_text
    from profiledb.studies.cpu_vs_gpu import crossing
    from profiledb.studies.cpu_vs_gpu import sentences as crossover_words

    report = library.find(arguments.report)
    crossovers = crossing.find_crossovers(analysis.run(library, report.id, "task_repetitions"))
    if arguments.format == "table":
        print(_format_text(crossovers), end="")
        return
    rows = crossing.build_frame(crossovers).assign(
        words=[crossover_words.describe_crossover(crossover) for crossover in crossovers]
    )
    if arguments.format == "json":
        print(rows.to_json(orient="records", indent=1, double_precision=15))
    else:
        print(row_text.format_csv(rows, crossing.COLUMNS), end="")


def _format_text(crossovers: Sequence["Crossover"]) -> str:
    """Format aligned columns, with a sentence per crossover below."""
    from profiledb.studies.cpu_vs_gpu import sentences as crossover_words

    cells = [_HEADINGS] + [
        (
            visible(crossover.task), crossover_words.BASES[crossover.basis],
            crossover_words.format_crossing(crossover) or "-",
            crossover_words.format_interval(crossover) or "-",
            f"{crossover.threshold:,}" if crossover.threshold is not None else "-",
        )
        for crossover in crossovers
    ]  # fmt: skip
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    sentences = [
        f"{visible(crossover.task)}, {crossover_words.BASES[crossover.basis]}:"
        f" {crossover_words.describe_crossover(crossover)}"
        for crossover in crossovers
    ]
    return "\n".join([*lines, "", *sentences, ""])
