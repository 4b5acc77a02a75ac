"""``warpdeck profile [options] -- PROGRAM ...``: the command line, and its steps in order."""

import argparse
import re
import shlex
import sys
from pathlib import Path
from typing import Any

from profiledb import config, terminal
from profiledb.errors import WarpdeckError
from warpdeck.profiling.nsys import RECORDS

ABOUT = (
    "Runs PROGRAM under nsys, or under the PyTorch profiler where there is no nsys or no GPU, takes the report into the"
    " library, and prints what holds the program back. The program keeps its environment, its terminal and its exit"
    " status; values of environment variables are removed from the report. Below torchrun, accelerate, mpirun and srun"
    " each rank gets a report."
)
STATUS = (
    "Exit status: 0, or that of PROGRAM; 1 if it could not be recorded; 2 for a wrong command line; 126 or 127 if"
    " a rank cannot be started."
)
NO_PROGRAM = 'Name a program after "--", as in: warpdeck profile -- python train.py'


def add_command(commands: Any) -> None:
    """Add the command to a parser."""
    command = terminal.add(
        commands, "profile", "record a program and say what holds it back", "-- python train.py",
        description=ABOUT, status=STATUS, usage="%(prog)s [options] -- PROGRAM ...", allow_abbrev=False,
    )  # fmt: skip
    _add_window(command)
    command.add_argument(
        "--tool", choices=("auto", "nsys", "torch"), default="auto", help="profiler (default: %(default)s)"
    )
    further = ", ".join(f"{one.name} ({one.tells})" for one in RECORDS if not one.standard)
    standard = ", ".join(one.name for one in RECORDS if one.standard)
    lists: dict[str, Any] = {"type": _parse_names, "default": [], "action": "extend", "metavar": "NAME,..."}
    command.add_argument("--with", dest="further", help=f"also record: {further}", **lists)
    command.add_argument("--without", help=f"leave out: {standard}", **lists)
    command.add_argument(
        "--arg", action="append", default=[], metavar="--X=Y", help="pass this option to the profiler; may be repeated"
    )
    command.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="folder for the files (default: the current one)"
    )
    command.add_argument(
        "--deep",
        action="store_true",
        help="run the program again under ncu, for the kernels that make 80 %% of the time",
    )
    command.add_argument(
        "--kernels-of", metavar="REPORT", help="run it under ncu alone, for the kernels of this report of it"
    )
    command.add_argument("--name", type=_parse_name, help="name of the files (default: that of the program)")
    command.add_argument("--open", action="store_true", help="open the report in the browser; serve it until Ctrl-C")
    command.add_argument("--record-only", action="store_true", help="leave the files, and do not take them in")
    command.add_argument("--verbose", action="store_true", help="show the profiler's command line and its messages")
    command.add_argument("--inbox", metavar="DIR", help="folder to watch (default: WARPDECK_INBOX)")
    command.add_argument("--library", metavar="DIR", help="folder of the converted reports (default: WARPDECK_LIBRARY)")
    command.add_argument(
        "program", nargs=argparse.REMAINDER, metavar="-- PROGRAM ...", help="program to run, with its arguments"
    )
    command.set_defaults(execute=execute)


def _add_window(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--steps",
        type=_parse_steps,
        metavar="FIRST:END",
        help="record these steps of a PyTorch program: 20:40 are 20 steps",
    )
    command.add_argument("--after", type=_parse_seconds, metavar="S", help="start to record after this many seconds")
    command.add_argument(
        "--seconds", type=_parse_seconds, metavar="S", help="record for this many seconds; the program runs on"
    )


def execute(arguments: argparse.Namespace) -> int:
    """Record, take in and print; return the program's exit status."""
    program = arguments.program[1:] if arguments.program[:1] == ["--"] else arguments.program
    if not program or (arguments.program[:1] != ["--"] and program[0].startswith("-")):
        terminal.say(f"warpdeck profile: {NO_PROGRAM}", sys.stderr)
        return terminal.USAGE
    outcome = [terminal.FAILED]
    status = terminal.run_guarded(lambda: _profile_program(arguments, program, outcome))
    return outcome[0] if outcome[0] != terminal.FAILED or status == 0 else status


def _profile_program(arguments: argparse.Namespace, program: list[str], outcome: list[int]) -> int:
    """Set ``outcome`` to the program's exit status once it is known; later errors are printed and change nothing."""
    from profiledb.library.locations import open_library, refuse_newer
    from warpdeck.profile_command import answer, deep, plan, session

    settings = config.load(inbox=arguments.inbox, library=arguments.library)
    if not arguments.record_only:
        refuse_newer(settings)
    output = arguments.output or Path.cwd()
    if arguments.kernels_of:
        report = open_library(settings).find(arguments.kernels_of)
        outcome[0] = deep.measure(report, deep.choose(arguments, program), settings, output, None)
        return outcome[0]
    chosen = plan.choose(arguments, program)
    with session.Session(chosen, output) as recording:
        for line in chosen.sentences:
            terminal.say(line, sys.stderr)
        if arguments.verbose:
            terminal.say(shlex.join(recording.command()), sys.stderr)
        outcome[0] = recording.run()
        reports = recording.keep()
        manifests = []
        try:
            if reports and not arguments.record_only:
                manifests = answer.answer(reports, settings, show=arguments.open)
        except WarpdeckError as error:
            terminal.say(f"{terminal.describe_error(error)} The files are in {reports[0].parent}.", sys.stderr)
        outcome[0] = recording.wait()
    if manifests and arguments.deep:
        deep.measure(manifests[0], deep.choose(arguments, program), settings, output, recording.seconds)
    if manifests and arguments.open:
        answer.serve(reports[0], settings)
    return outcome[0]


def _parse_steps(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d{1,9}):(\d{1,9})", text)
    if not match or not 1 <= int(match[1]) < int(match[2]):
        raise argparse.ArgumentTypeError(f"{text!r} are no steps: 20:40 records 20 steps after the first 20")
    return int(match[1]), int(match[2])


def _parse_seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1
    if not 0 < value <= 1e6:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds above 0")
    return value


def _parse_names(text: str) -> list[str]:
    known = [one.name for one in RECORDS]
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise argparse.ArgumentTypeError(f"{name!r} is not one of {', '.join(known)}")
    return names


def _parse_name(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no name of a file: letters, digits, '.', '_' and '-'")
    return text
