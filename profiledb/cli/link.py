"""``python -m profiledb link NSYS NCU``: says which Compute report is of the same program."""

import argparse
from typing import Any

from profiledb.errors import AnalysisError
from profiledb.query import analysis
from profiledb.report.library import Library


def add(commands: Any, common: argparse.ArgumentParser) -> None:
    """Adds the command to those of the parser."""
    command = commands.add_parser("link", parents=[common], help="link a Systems report to a Compute report")
    command.add_argument(
        "nsys", metavar="NSYS", help="report of Nsight Systems: id, unique prefix of one, or file name"
    )
    command.add_argument("ncu", metavar="NCU", nargs="?", help="report of Nsight Compute of the same program")
    command.add_argument("--remove", action="store_true", help="take the link of NSYS away")
    command.set_defaults(command=run)


def run(library: Library, arguments: argparse.Namespace) -> None:
    """Links, or takes the link away, and says what is covered."""
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
