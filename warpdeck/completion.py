"""``warpdeck completion bash|zsh``: prints a script that completes commands, options, choices, files and reports."""

import argparse
from collections.abc import Callable
from typing import Any

from profiledb import terminal

SHELLS = ("bash", "zsh")
_FILES = {"files", "output", "phases", "classes"}
_FOLDERS = {"inbox", "library", "samples", "folder"}
_REPORTS = {"report", "reports", "a", "b", "nsys", "ncu"}
_ASK = "warpdeck list --format words 2>/dev/null"
_ANSWER = {"bash": "_warpdeck_reports", "zsh": "_warpdeck_reports"}
"""The functions that complete reports: of ``_PREAMBLE``."""
_PREAMBLE = {
    "bash": f"""\
_warpdeck_reports() {{
  local word
  while IFS= read -r word; do [[ "$word" == "$1"* ]] && printf '%s\\n' "$word"; done < <({_ASK})
}}
""",
    "zsh": f"""\
_warpdeck_reports() {{
  local -a words=("${{(@f)$({_ASK})}}")
  compadd -a words
}}
""",
}
"""Names go from line to word without being read by the shell."""
EPILOG = (
    'Example: eval "$(%(prog)s bash)"    # in ~/.bashrc\n'
    "For zsh: %(prog)s zsh > DIR/_warpdeck, with DIR in $fpath before compinit."
)


def add(commands: Any, parser: Callable[[], argparse.ArgumentParser]) -> None:
    """Adds the command to those of the parser that ``parser`` makes."""
    command = terminal.add(
        commands, "completion", "print a script with which the shell completes commands and reports", "", epilog=EPILOG
    )
    command.add_argument("shell", choices=SHELLS, metavar="SHELL", help="bash or zsh")
    command.set_defaults(execute=lambda arguments: terminal.guarded(lambda: _print(parser(), arguments.shell)))


def _print(parser: argparse.ArgumentParser, shell: str) -> None:
    import shtab

    for action in _actions(parser):
        if action.dest in _FILES:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
        elif action.dest in _FOLDERS:
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
        elif action.dest in _REPORTS:
            action.complete = _ANSWER  # type: ignore[attr-defined]
    print(shtab.complete(parser, shell=shell, preamble=_PREAMBLE[shell]))


def _actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Arguments of all commands."""
    found = list(parser._actions)  # noqa: SLF001 (argparse has no public list; shtab reads this one, too)
    for action in parser._actions:  # noqa: SLF001
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            found += [one for command in action.choices.values() for one in _actions(command)]
    return found
