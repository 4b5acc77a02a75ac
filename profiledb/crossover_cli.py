"""``python -m profiledb crossover REPORT`` and ``python -m profiledb features REPORT...``."""

import argparse
import sys
from collections.abc import Sequence

from profiledb import analysis, crossover, crossover_words, features
from profiledb.compare_cli import csv_text
from profiledb.crossover import Crossover
from profiledb.errors import WarpdeckError
from profiledb.library import Library
from profiledb.words import visible

_HEADINGS = ("task", "basis", "crossing", "95 % interval", "use the GPU from")


def run(library: Library, arguments: argparse.Namespace) -> None:
    """Prints the crossovers of a report on standard output.

    Raises:
        NotCapturedError: no times of tasks lie beside the report.
    """
    report = library.find(arguments.report)
    found = crossover.crossovers(analysis.run(library, report.id, "task_repetitions"))
    if arguments.format == "table":
        print(_text(found), end="")
        return
    rows = crossover.as_frame(found).assign(words=[crossover_words.sentence(one) for one in found])
    if arguments.format == "json":
        print(rows.to_json(orient="records", indent=1, double_precision=15))
    else:
        print(csv_text(rows, crossover.COLUMNS), end="")


def _text(found: Sequence[Crossover]) -> str:
    """Aligned columns, and below them a sentence each."""
    cells = [_HEADINGS] + [
        (
            visible(one.task), crossover_words.BASES[one.basis], crossover_words.crossing(one) or "-",
            crossover_words.interval(one) or "-", f"{one.threshold:,}" if one.threshold is not None else "-",
        )
        for one in found
    ]  # fmt: skip
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    said = [
        f"{visible(one.task)}, {crossover_words.BASES[one.basis]}: {crossover_words.sentence(one)}" for one in found
    ]
    return "\n".join([*lines, "", *said, ""])


def run_features(library: Library, arguments: argparse.Namespace) -> None:
    """Writes the feature table of the reports; what is left out is said on standard error.

    Raises:
        AnalysisError: none of them has times of tasks.
        WarpdeckError: the file cannot be written, or a Parquet file would go to a terminal.
    """
    output = arguments.output
    form: features.Format = arguments.format or (
        "parquet" if output is not None and output.suffix.lower() == ".parquet" else "csv"
    )
    if form == "parquet" and output is None and sys.stdout.isatty():
        raise WarpdeckError("A Parquet file is no text.", hint="Name a file: -o features.parquet")
    reports = [library.find(name) for name in arguments.reports]
    rows = features.table(library, reports, lambda words: print(words, file=sys.stderr))
    data = features.content(rows, form)
    if output is None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    try:
        output.write_bytes(data)
    except OSError as error:
        raise WarpdeckError(f"{output} cannot be written: {error.strerror}.") from error
