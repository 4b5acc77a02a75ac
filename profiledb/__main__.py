"""``python -m profiledb``: the library from the command line."""

import argparse
import csv
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from profiledb import analysis, config
from profiledb.errors import AnalysisError, WarpdeckError
from profiledb.library import Library


def main(argv: list[str] | None = None) -> int:
    """Runs a command; exit status 0, or 1 after an error in one line on standard error."""
    arguments = _parser().parse_args(argv)
    try:
        arguments.command(Library(config.load(library=arguments.library).library), arguments)
    except WarpdeckError as error:
        print(f"{error.message} {error.hint}".strip(), file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader, such as head, has seen enough
        sys.stderr.close()
    return 0


def list_entries(library: Library) -> list[dict[str, Any]]:
    """Every report, and every file that is on its way or failed, with the keys of ``list --format json``."""
    labels = library.catalog.labels()
    entries = [
        {
            "id": r.id,
            "name": r.name,
            "kind": r.kind,
            "status": "ready",
            "source_sha256": r.source_sha256,
            "gpu": r.gpu,
            "captured_at": r.captured_at,
            "labels": labels.get(r.id, []),
            "error": None,
        }
        for r in library.list()
    ]
    return entries + [
        dict.fromkeys(("id", "kind", "source_sha256", "gpu", "captured_at"))
        | {"name": job.name, "status": job.state, "labels": [], "error": job.message or None}
        for job in library.catalog.jobs()
        if job.state not in ("ready", "duplicate", "deleted")
    ]


def write_csv(frame: pd.DataFrame, formats: dict[str, str]) -> None:
    """Prints a result as CSV: numbers in the format of their column, missing values as nothing."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(frame.columns)
    for row in frame.itertuples(index=False):
        writer.writerow([_cell(value, formats.get(name, "")) for name, value in zip(frame.columns, row, strict=True)])


def _cell(value: Any, spec: str) -> Any:
    if pd.api.types.is_scalar(value) and pd.isna(value):
        return ""
    return format(value, spec) if spec else value


def _list(library: Library, arguments: argparse.Namespace) -> None:
    entries = list_entries(library)
    if arguments.format == "json":
        print(json.dumps(entries, indent=1))
        return
    for e in entries:
        line = f"{e['status']:<9} {e['id'] or '-':<16}  {e['kind'] or '-':<5} {e['name']}  {', '.join(e['labels'])}"
        print(line.rstrip())


def _run(library: Library, arguments: argparse.Namespace) -> None:
    report = library.find(arguments.report)
    found = analysis.get(arguments.analysis)
    frame = analysis.run(library, report.id, found.name, _params(arguments.param))
    if arguments.format == "json":
        print(frame.to_json(orient="records", indent=1, date_format="iso", double_precision=15))
    else:
        write_csv(frame, {column.name: column.format for column in found.columns})


def _params(given: list[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in given]
    if wrong := [name for name, equals, _ in pairs if not equals]:
        raise AnalysisError(f"--param takes NAME=VALUE, not {wrong[0]!r}.")
    return {name: value for name, _, value in pairs}


def _analyses(_: Library, arguments: argparse.Namespace) -> None:
    found = analysis.analyses().values()
    if arguments.format == "json":
        print(json.dumps([{k: v for k, v in asdict(a).items() if k != "sql"} for a in found], indent=1))
        return
    for a in found:
        print(f"{a.name:<24} {a.title}")
        for p in a.params:
            print(f"{'':<24}   {p.name} = {p.default or '(none)'}  {p.help}")


def _parser() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--library", type=Path, help="folder of the converted reports")
    parser = argparse.ArgumentParser(prog="python -m profiledb", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    listing = commands.add_parser("list", parents=[common], help="reports of the library")
    listing.add_argument("--format", choices=("text", "json"), default="text")
    listing.set_defaults(command=_list)
    running = commands.add_parser("run", parents=[common], help="run an analysis on a report")
    running.add_argument("analysis", metavar="ANALYSIS")
    running.add_argument("report", metavar="REPORT", help="id, unique prefix of one, or file name")
    running.add_argument("--param", action="append", default=[], metavar="NAME=VALUE")
    running.add_argument("--format", choices=("csv", "json"), default="csv")
    running.set_defaults(command=_run)
    showing = commands.add_parser("analyses", parents=[common], help="analyses that there are")
    showing.add_argument("--format", choices=("text", "json"), default="text")
    showing.set_defaults(command=_analyses)
    return parser


if __name__ == "__main__":
    sys.exit(main())
