"""``python -m profiledb``: the library from the command line."""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from profiledb import analysis, compare_arguments, config, export, output, selection
from profiledb.analysis import Param
from profiledb.errors import AnalysisError, CatalogError, DamagedError, WarpdeckError
from profiledb.library import Library

_SELECTION = tuple(
    Param(name, selection.CHOICES.get(name, ("",))[0], selection.CHOICES.get(name, ()), words)
    for name, words in selection.HELP.items()
)
"""Parameters of every analysis that looks at a part of a report."""


def main(argv: list[str] | None = None) -> int:
    """Runs a command; exit status 0, or after an error in one line on standard error 1: 2 where a file of the library
    is damaged, and of ``compare``."""
    arguments = _parser().parse_args(argv)
    status: int | None = 0
    try:
        status = arguments.command(Library(config.load(library=arguments.library).library), arguments)
    except WarpdeckError as error:
        print(f"{error.message} {error.hint}".strip(), file=sys.stderr)
        damaged = isinstance(error, (CatalogError, DamagedError))
        return 2 if damaged or arguments.command is _compare else 1
    except BrokenPipeError:  # the reader, such as head, has seen enough
        sys.stderr.close()
    return status or 0


def list_entries(library: Library) -> list[dict[str, Any]]:
    """Every report, and every file that is on its way or failed, with the keys of ``list --format json``."""
    labels, links = library.catalog.labels(), library.catalog.links()
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
            "linked": links.get(r.id),
            "error": None,
        }
        for r in library.list()
    ]
    return entries + [
        dict.fromkeys(("id", "kind", "source_sha256", "gpu", "captured_at", "linked"))
        | {"name": job.name, "status": job.state, "labels": [], "error": job.message or None}
        for job in library.catalog.jobs()
        if job.state not in ("ready", "duplicate", "deleted")
    ]


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
    params = _params(arguments.param)
    if arguments.format == "json":
        frame = analysis.run(library, report.id, arguments.analysis, params)
        print(frame.to_json(orient="records", indent=1, date_format="iso", double_precision=15))
    else:
        output.write_csv(library, report, arguments.analysis, params, sys.stdout.buffer)


def _summary(library: Library, arguments: argparse.Namespace) -> None:
    from profiledb import summary  # brings pandas, 0.3 s, which other commands do without

    report = library.find(arguments.report)
    text = summary.text(library, report, summary.page_params(library, report, _params(arguments.param)))
    if arguments.output is None:
        sys.stdout.buffer.write(text.encode())
        return
    try:
        arguments.output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise WarpdeckError(f"{arguments.output} cannot be written: {error.strerror}.") from error


def _export_stats(library: Library, arguments: argparse.Namespace) -> None:
    index = export.write_all(library, library.find(arguments.report), arguments.folder, _params(arguments.param))
    written = sum(1 for *_, why in index if not why)
    print(f"{written} of {len(index)} analyses have data: {arguments.folder / export.INDEX} lists all.")


def _params(given: list[str]) -> dict[str, str | tuple[str, ...]]:
    pairs = [text.partition("=") for text in given]
    if wrong := [name for name, equals, _ in pairs if not equals]:
        raise AnalysisError(f"--param takes NAME=VALUE, not {wrong[0]!r}.")
    found: dict[str, str | tuple[str, ...]] = {name: value for name, _, value in pairs}
    for name in found:
        values = tuple(value for other, _, value in pairs if other == name)
        if len(values) > 1 and name != "range":
            raise AnalysisError(f"--param {name} can be given only once.", hint="Only range may be repeated.")
        found[name] = values if len(values) > 1 else values[0]
    return found


def _link(library: Library, arguments: argparse.Namespace) -> None:
    nsys = library.find(arguments.nsys)
    if arguments.remove:
        library.unlink(nsys.id)
        print(f"{nsys.name} is linked to no report.")
        return
    if arguments.ncu is None:
        raise AnalysisError(
            "Which Compute report?", hint="Name one after the report, or --remove to take its link away."
        )
    ncu = library.find(arguments.ncu)
    covered = analysis.run(library, nsys.id, "ncu_coverage", {"ncu": ncu.id})["covered_pct"].iloc[0]
    library.link(nsys.id, ncu.id)
    print(f"{nsys.name} is linked to {ncu.name}: it covers {covered:.1f} % of the GPU time.")


def _compare(library: Library, arguments: argparse.Namespace) -> int:
    from profiledb import compare_cli  # it takes pandas along, which the other commands do without

    return compare_cli.run(library, arguments, _params(arguments.param), _params(arguments.other_param))


def _crossover(library: Library, arguments: argparse.Namespace) -> None:
    from profiledb import crossover_cli

    crossover_cli.run(library, arguments)


def _features(library: Library, arguments: argparse.Namespace) -> None:
    from profiledb import crossover_cli

    crossover_cli.run_features(library, arguments)


def _scaling(library: Library, arguments: argparse.Namespace) -> None:
    from profiledb import scaling_cli  # it takes pandas along, too

    scaling_cli.run(library, arguments)


def _analyses(_: Library, arguments: argparse.Namespace) -> None:
    found = analysis.analyses().values()
    if arguments.format == "json":
        shared = [asdict(p) for p in _SELECTION]
        entries = [asdict(a) | {"selection": shared if a.selects else []} for a in found]
        print(json.dumps([{k: v for k, v in entry.items() if k != "sql"} for entry in entries], indent=1))
        return
    for a in found:
        print(f"{a.name:<24} {a.title}")
        _print_params(a.params)
        if a.selects:
            print(f"{'':<24}   selection")
    print(f"{'selection':<24} What part of the report is looked at")
    _print_params(_SELECTION)


def _print_params(params: tuple[Param, ...]) -> None:
    for p in params:
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
    telling = commands.add_parser("summary", parents=[common], help="the answers of the pages as Markdown")
    telling.add_argument("report", metavar="REPORT", help="id, unique prefix of one, or file name")
    telling.add_argument("--param", action="append", default=[], metavar="NAME=VALUE", help="of the selection")
    telling.add_argument("-o", "--output", type=Path, metavar="FILE", help="writes there instead of printing")
    telling.set_defaults(command=_summary)
    exporting = commands.add_parser("export_stats", parents=[common], help="every analysis as CSV into a folder")
    exporting.add_argument("report", metavar="REPORT", help="id, unique prefix of one, or file name")
    exporting.add_argument("folder", metavar="DIR", type=Path)
    exporting.add_argument("--param", action="append", default=[], metavar="NAME=VALUE")
    exporting.set_defaults(command=_export_stats)
    linking = commands.add_parser("link", parents=[common], help="link a Systems report to a Compute report")
    linking.add_argument(
        "nsys", metavar="NSYS", help="report of Nsight Systems: id, unique prefix of one, or file name"
    )
    linking.add_argument("ncu", metavar="NCU", nargs="?", help="report of Nsight Compute of the same program")
    linking.add_argument("--remove", action="store_true", help="take the link of NSYS away")
    linking.set_defaults(command=_link)
    compare_arguments.add(commands, common).set_defaults(command=_compare)
    _add_tasks(commands, common)
    scaling = commands.add_parser("scaling", parents=[common], help="how well a program scales over GPUs")
    scaling.add_argument("reports", metavar="REPORT", nargs="+", help="of every rank of every run, as list names them")
    scaling.add_argument("--format", choices=("table", "csv", "json"), default="table")
    scaling.add_argument(
        "--scaling",
        choices=("strong", "weak"),
        default="strong",
        help="what it is where neither program nor items tell",
    )
    scaling.set_defaults(command=_scaling)
    showing = commands.add_parser("analyses", parents=[common], help="analyses that there are")
    showing.add_argument("--format", choices=("text", "json"), default="text")
    showing.set_defaults(command=_analyses)
    return parser


def _add_tasks(commands: Any, common: argparse.ArgumentParser) -> None:
    """Adds the commands about times of the same work on CPU and GPU."""
    crossing = commands.add_parser("crossover", parents=[common], help="from which size on the GPU beats the CPU")
    crossing.add_argument("report", metavar="REPORT", help="id, unique prefix of one, or file name")
    crossing.add_argument("--format", choices=("table", "csv", "json"), default="table")
    crossing.set_defaults(command=_crossover)
    featuring = commands.add_parser(
        "features", parents=[common], help="a row a task and size for machine learning, as CSV or Parquet"
    )
    featuring.add_argument("reports", metavar="REPORT", nargs="+", help="id, unique prefix of one, or file name")
    featuring.add_argument("--format", choices=("csv", "parquet"), help="default: by the ending of FILE, else csv")
    featuring.add_argument("-o", "--output", type=Path, metavar="FILE", help="writes there instead of printing")
    featuring.set_defaults(command=_features)


if __name__ == "__main__":
    sys.exit(main())
