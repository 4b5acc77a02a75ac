"""``python -m profiledb analyses``: what can be asked, and the parameters of each."""

import argparse
import json
from dataclasses import asdict
from typing import Any

from profiledb.query import header
from profiledb.query.header import Param
from profiledb.report.library import Library
from profiledb.selection import model

_SELECTION = tuple(
    Param(name, model.CHOICES.get(name, ("",))[0], model.CHOICES.get(name, ()), words)
    for name, words in model.HELP.items()
)
"""Parameters of every analysis that looks at a part of a report."""


def add(commands: Any, common: argparse.ArgumentParser) -> None:
    """Adds the command to those of the parser."""
    command = commands.add_parser("analyses", parents=[common], help="analyses that there are")
    command.add_argument("--format", choices=("text", "json"), default="text")
    command.set_defaults(command=run)


def run(_: Library, arguments: argparse.Namespace) -> None:
    """Prints all analyses."""
    listed = header.analyses().values()
    if arguments.format == "json":
        shared = [asdict(p) for p in _SELECTION]
        entries = [asdict(a) | {"selection": shared if a.by_part else []} for a in listed]
        print(json.dumps([{k: v for k, v in entry.items() if k != "sql"} for entry in entries], indent=1))
        return
    for a in listed:
        print(f"{a.name:<24} {a.title}")
        _print_params(a.params)
        if a.by_part:
            print(f"{'':<24}   selection")
    print(f"{'selection':<24} What part of the report is looked at")
    _print_params(_SELECTION)


def _print_params(params: tuple[Param, ...]) -> None:
    for p in params:
        print(f"{'':<24}   {p.name} = {p.default or '(none)'}  {p.help}")
