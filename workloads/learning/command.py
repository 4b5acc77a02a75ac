"""`python -m workloads learn FEATURES... -o MODEL`: learn how long tasks take, and how far that can be trusted."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from .. import COMMAND
from ..errors import WorkloadError
from . import costs, measured, validation
from .table import TARGETS, read

RULES = ("model", "threshold", "always GPU", "always CPU")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument(
        "features", type=Path, nargs="+", metavar="FEATURES",
        help="tables that `warpdeck features` wrote, or NAME.tasks.csv of the workload `tasks`",
    )  # fmt: skip
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="file for the model (default: none, only the errors are said)"
    )


def run(options: argparse.Namespace) -> Iterator[str]:
    """Learn a model and yield its errors on left-out data.

    Raises:
        WorkloadError: the table cannot be read, or has too little data to learn from.
    """
    try:
        import sklearn  # noqa: F401  # type: ignore[import-untyped, unused-ignore]
        import skops  # noqa: F401
    except ImportError as error:
        raise WorkloadError(f"Learning needs {error.name}: pip install 'warpdeck[learn]'.") from error
    left_out: list[str] = []
    rows = [
        row
        for path in options.features
        for row in (measured.read(path) if path.name.endswith(measured.ENDING) else read(path, left_out.append))
    ]
    yield from left_out
    few = costs.find_too_few(rows)
    if len(few) == len({(row.machine, row.task, row.precision) for row in rows}):
        raise WorkloadError(
            f"There is too little to learn from: no task has {costs.SIZES} sizes. Measure more: "
            f"{COMMAND} profile tasks --tasks all --sizes 32,64,128,256,512,1024,2048."
        )
    model = costs.learn(rows)
    machines = sorted({row.machine for row in rows})
    tasks = f"{len(model.tasks)} task{'' if len(model.tasks) == 1 else 's'}"
    yield _make_printable(", ".join(filter(None, (f"{len(rows):,} rows", tasks, *machines))))
    for (machine, task, precision), sizes in sorted(few.items()):
        words = " ".join(filter(None, (task, precision, machine and f"on {machine}")))
        yield _make_printable(f"not learned: {words} has {sizes} of {costs.SIZES} sizes")
    splits = validation.validate(rows)
    yield from format_table(list(validation.score_parts(splits)))
    if options.output:
        model.trust = validation.compute_trust(splits)
        model.save(options.output)
        yield f"{options.output}: the model"


def format_table(scores: list[validation.Score]) -> Iterator[str]:
    """Yield errors and regrets, a line per left-out part."""
    targets = [target for target in TARGETS if any(target in score.error_pct for score in scores)]
    names = [target.replace("_", " ") for target in targets]
    head = ["left out", "rows", *(f"{name} error" for name in names), *(f"{rule} regret" for rule in RULES)]
    lines = [head]
    for score in scores:
        errors = [_format_percent(score.error_pct.get(target)) for target in targets]
        regrets = [_format_percent(score.regret_pct.get(rule)) for rule in RULES]
        lines.append([score.left_out, f"{score.rows:,}", *errors, *regrets])
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    for line in lines:
        cells = [
            cell.ljust(width) if n == 0 else cell.rjust(width)
            for n, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()
    for score in scores:
        if of := score.energy_regret_pct:
            regrets_text = ", ".join(f"{rule} {_format_percent(regret)}" for rule, regret in of.items())
            yield f"energy of the GPUs, {score.left_out} left out: regret {regrets_text}"
    for score in scores:
        of = score.regret_pct
        if of.get("model", 0.0) > of.get("threshold", 0.0):
            yield f"{score.left_out} left out: the model chose worse than the threshold, which decides such tasks"
    yield "Errors are medians. Regret: time on the chosen devices over that on the faster ones, less one."
    yield "Of tasks that were never measured bytes and operations tell too little: there the model goes by thresholds."


def _make_printable(text: str) -> str:
    """Remove control characters from a name, which comes from a file."""
    return "".join(letter for letter in text if letter.isprintable())


def _format_percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f} %"
