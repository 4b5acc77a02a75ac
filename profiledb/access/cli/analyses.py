"""``warpdeck analyses``: list the analyses and their parameters."""

import argparse
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from profiledb import terminal
from profiledb.access.cli.params import DEFAULT
from profiledb.selection import model

if TYPE_CHECKING:
    from profiledb.library.library import Library
    from profiledb.query.header import Param


def add(commands: Any, common: argparse.ArgumentParser) -> None:
    command = terminal.add(
        commands, "analyses", "list the analyses and their parameters", "--format json", parents=[common]
    )
    command.add_argument("--format", choices=("text", "json"), default="text", help=DEFAULT)
    command.set_defaults(command=run)


def run(_: "Library", arguments: argparse.Namespace) -> None:
    from profiledb.query import header

    if arguments.format == "json":
        print(json.dumps(list_entries(), indent=1))
        return
    for a in header.list_analyses().values():
        print(f"{a.name:<24} {a.title}")
        _print_params(a.params)
        if a.by_part:
            print(f"{'':<24}   selection")
    print(f"{'selection':<24} Which part of the report counts")
    _print_params(_list_selection_parameters(model.Selection().mode))


def list_entries() -> list[dict[str, Any]]:
    """Describe every analysis for JSON, without its SQL."""
    from profiledb.query import header

    described = [
        asdict(a) | {"selection": [asdict(p) for p in _list_selection_parameters(a.mode) if a.by_part]}
        for a in header.list_analyses().values()
    ]
    return [{k: v for k, v in entry.items() if k != "sql"} for entry in described]


def _list_selection_parameters(mode: str) -> "tuple[Param, ...]":
    """Return the parameters of an analysis of a selection, whose mode of attribution is ``mode`` by default."""
    from profiledb.query.header import Param

    defaults = {name: choices[0] for name, choices in model.CHOICES.items()} | {"mode": mode}
    return tuple(
        Param(name, defaults.get(name, ""), model.CHOICES.get(name, ()), words) for name, words in model.HELP.items()
    )


def _print_params(params: "tuple[Param, ...]") -> None:
    for p in params:
        print(f"{'':<24}   {p.name} = {p.default or '(none)'}  {p.help}")
