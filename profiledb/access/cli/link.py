"""``warpdeck link NSYS OTHER``: link reports of the same program."""

import argparse
from typing import TYPE_CHECKING, Any

from profiledb import terminal
from profiledb.access.cli.params import REPORT
from profiledb.errors import AnalysisError

if TYPE_CHECKING:
    from profiledb.library.library import Library


def add(commands: Any, common: argparse.ArgumentParser) -> None:
    command = terminal.add(
        commands, "link", "link a Systems report to a Compute report or a PyTorch trace of the same program",
        "my.nsys-rep my.ncu-rep", parents=[common],
    )  # fmt: skip
    command.add_argument("nsys", metavar="NSYS", help=f"report of Nsight Systems: {REPORT}")
    command.add_argument(
        "other", metavar="OTHER", nargs="?",
        help="report of Nsight Compute, or trace of the PyTorch profiler with operators, of the same program",
    )  # fmt: skip
    command.add_argument("--remove", action="store_true", help="remove the links of NSYS instead")
    command.set_defaults(command=run)


def run(library: "Library", arguments: argparse.Namespace) -> None:
    """Add or remove links, and print how much the other report covers."""
    from profiledb.query import analysis
    from profiledb.studies.trace_link import links

    nsys = library.find(arguments.nsys)
    if arguments.remove:
        library.unlink(nsys.id)
        library.unlink(nsys.id, "trace")
        terminal.say(f"{nsys.name} is no longer linked.")
        return
    if arguments.other is None:
        raise AnalysisError(
            "No report to link to is named.", hint="Name one after the Systems report, or --remove its links."
        )
    ncu = library.find(arguments.other)
    if ncu.rows.get("operator"):
        match_text = links.link_trace(library, nsys.id, ncu.id).count_text
        terminal.say(f"{nsys.name} is linked to {ncu.name}: {match_text}.")
        return
    covered = analysis.run(library, nsys.id, "ncu_coverage", {"ncu": ncu.id})["covered_pct"].iloc[0]
    library.link(nsys.id, ncu.id)
    terminal.say(f"{nsys.name} is linked to {ncu.name}, which covers {covered:.1f} % of the GPU time.")
