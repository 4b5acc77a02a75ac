"""``warpdeck runs``: print the runs on several GPUs, or one with its straggler."""

import argparse
import json
from typing import TYPE_CHECKING, Any

from profiledb import terminal
from profiledb.access.cli.params import DEFAULT, REPORT

if TYPE_CHECKING:
    from profiledb.library.library import Library


def add(commands: Any, common: argparse.ArgumentParser) -> None:
    command = terminal.add(
        commands, "runs", "list runs on several GPUs, and which rank holds up the others", "--format json",
        parents=[common],
        description="A run is all ranks of one job. Its ranks are found by the launcher's environment, by the names of"
        " reports, or by the ranks and times that traces state.",
    )  # fmt: skip
    command.add_argument("run", metavar="RUN", nargs="?", help=f"only this run: its name, or {REPORT}")
    command.add_argument("--format", choices=("text", "json"), default="text", help=DEFAULT)
    command.set_defaults(command=run)


def run(library: "Library", arguments: argparse.Namespace) -> None:
    """Print the runs with what holds them up. Raises AnalysisError if there is no such run."""
    from profiledb.studies import run_lookup
    from profiledb.studies.trends import summary_refresh

    summary_refresh.refresh(library)
    runs = [run_lookup.require_named(library, arguments.run)] if arguments.run else run_lookup.list_runs(library)
    described = [run_lookup.describe(library, one) for one in runs]
    if arguments.format == "json":
        print(json.dumps(described, indent=1))
        return
    if not described:
        terminal.say("No report is of a run on several GPUs.")
    for one in described:
        _print_run(one)


def _print_run(one: dict[str, Any]) -> None:
    from profiledb import words

    ranks = f"{one['ranks']} ranks" if one["present"] == one["ranks"] else f"{one['present']} of {one['ranks']} ranks"
    nodes = f" on {words.counted(one['nodes'], 'node')}" if one["nodes"] else ""
    terminal.say(f"{one['name']}: {ranks}{nodes}, {words.duration(one['step_ns'])} per step")
    for sentence in one["sentences"]:
        terminal.say(f"  {sentence}")
