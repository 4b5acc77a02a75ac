"""``warpdeck series``: print which reports belong together, and the changes in each series."""

import argparse
import json
from typing import TYPE_CHECKING, Any

from profiledb import terminal
from profiledb.access.cli.check import MEASURES
from profiledb.access.cli.params import DEFAULT, REPORT
from profiledb.errors import AnalysisError

if TYPE_CHECKING:
    from profiledb.library.library import Library
    from profiledb.studies.trends.series import Series
    from profiledb.studies.trends.series_board import Board
    from profiledb.studies.trends.series_lines import Line


def add(commands: Any, common: argparse.ArgumentParser) -> None:
    command = terminal.add(
        commands, "series", "list series of reports and what changed in them", "--format json", parents=[common],
        description="A series is the same program on the same GPU model; profiledb/rules/series.toml has the rules.",
    )  # fmt: skip
    command.add_argument("series", metavar="SERIES", nargs="?", help="list the reports of this series: name or key")
    command.add_argument("--move", metavar="REPORT", help=f"move a report to SERIES: {REPORT}")
    command.add_argument("--leave-out", metavar="REPORT", help="leave a report out of all series")
    command.add_argument("--by-rules", metavar="REPORT", help="have a report go by the rules again")
    command.add_argument(
        "--accept",
        metavar="REPORT",
        help="accept the present level of a drifted measure: the gate finds drifts from this report on",
    )
    command.add_argument(
        "--measure", choices=MEASURES, default=MEASURES[0], metavar="MEASURE",
        help=f"measure of --accept {DEFAULT}: {', '.join(MEASURES)}",
    )  # fmt: skip
    command.add_argument("--format", choices=("text", "json"), default="text", help=DEFAULT)
    command.set_defaults(command=run)


def run(library: "Library", arguments: argparse.Namespace) -> None:
    """Print the series, worst first, or the reports of one series."""
    from profiledb.studies.trends import summary_refresh
    from profiledb.studies.trends.series_board import Board

    _write_decisions(library, arguments)
    summary_refresh.refresh(library)
    board = Board(library)
    if arguments.series and not arguments.move:
        _print_entries(_list_reports(board, board.find(arguments.series)), arguments.format)
    else:
        _print_entries([_make_entry(line) for line in board.listed], arguments.format)


def _write_decisions(library: "Library", arguments: argparse.Namespace) -> None:
    from profiledb.library.series_decisions import LEFT_OUT, Note

    asked = {"move": arguments.series, "leave_out": LEFT_OUT, "by_rules": None}
    for name, to in asked.items():
        if report := getattr(arguments, name):
            if name == "move" and not arguments.series:
                raise AnalysisError("--move needs the name of a series.", hint="warpdeck series NAME --move REPORT")
            library.catalog.decisions.choose(library.find(report).id, to)
    if arguments.accept:
        accepted = library.find(arguments.accept)
        library.catalog.decisions.write_note(accepted.id, arguments.measure, Note("accepted", ""))


def _make_entry(line: "Line") -> dict[str, Any]:
    last = line.change
    return {
        "key": line.key,
        "series": line.series,
        "reports": line.reports,
        "first": line.first.isoformat(timespec="seconds"),
        "last": line.last.isoformat(timespec="seconds"),
        "measure": line.measure.name,
        "newest": line.recent[-1],
        "drifts": line.drifts,
        "change": None
        if last is None
        else {
            "report": last.report_id,
            "commit": last.commit,
            "kind": last.kind,
            "state": "open" if last.note is None else last.note.state,
            "change_pct": None if last.share is None else 100 * last.share,
            "around": list(last.around),
        },
    }


def _list_reports(board: "Board", series: "Series") -> list[dict[str, Any]]:
    trend = board.one(series)
    values = dict(zip((point.id for point in trend.points), trend.values, strict=True)) if trend else {}
    return [
        {
            "report": point.id,
            "name": point.facts.name,
            "at": point.at.isoformat(timespec="seconds"),
            "commit": point.commit,
            "moved": point.moved,
            "wall_ns": values.get(point.id),
        }
        for point in series.points
    ]


def _print_entries(entries: list[dict[str, Any]], form: str) -> None:
    from profiledb import words
    from profiledb.studies.compare.verdict import format_percent_change

    if form == "json":
        print(json.dumps(entries, indent=1))
        return
    for e in entries:
        if "report" in e:
            commit = (e["commit"] or "-")[:12]
            terminal.say(f"{e['report']}  {e['at'][:16]}  {commit:<12}  {words.duration(e['wall_ns']):>9}  {e['name']}")
            continue
        change = e["change"]
        newest_change = (
            f"{e['measure']} {format_percent_change(change['change_pct'])} {change['kind']}" if change else "-"
        )
        terminal.say(f"{e['key']}  {e['reports']:>5}  {newest_change:<36}  {e['series']}")
