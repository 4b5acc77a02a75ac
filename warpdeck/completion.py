"""``warpdeck completion bash|zsh``: print a script that completes commands, options, choices, files and reports."""

import argparse
from collections.abc import Callable
from typing import Any

from profiledb import terminal

SHELLS = ("bash", "zsh")
_FILES = {"files", "output", "phases", "classes"}
_FOLDERS = {"inbox", "library", "samples", "folder"}
_REPORTS = {"report", "reports", "a", "b", "nsys", "ncu"}
_LIST_REPORTS = "warpdeck list --format words 2>/dev/null"
_COMPLETE_REPORT = {"bash": "_warpdeck_reports", "zsh": "_warpdeck_reports"}
"""Functions of ``_PREAMBLE`` that complete reports."""
_PREAMBLE = {
    "bash": f"""\
_warpdeck_reports() {{
  local word
  while IFS= read -r word; do [[ "$word" == "$1"* ]] && printf '%s\\n' "$word"; done < <({_LIST_REPORTS})
}}
""",
    "zsh": f"""\
_warpdeck_reports() {{
  local -a words=("${{(@f)$({_LIST_REPORTS})}}")
  compadd -a words
}}
""",
}
"""Names pass from lines to words without evaluation by the shell."""
EPILOG = (
    'Example: eval "$(%(prog)s bash)"    # in ~/.bashrc\n'
    "For zsh: %(prog)s zsh > DIR/_warpdeck, with DIR in $fpath before compinit."
)


def add_command(commands: Any, parser: Callable[[], argparse.ArgumentParser]) -> None:
    """Add the command; ``parser`` makes the parser of all commands."""
    command = terminal.add(
        commands, "completion", "print a script with which the shell completes commands and reports", "", epilog=EPILOG
    )
    command.add_argument("shell", choices=SHELLS, metavar="SHELL", help="bash or zsh")
    command.set_defaults(
        execute=lambda arguments: terminal.run_guarded(lambda: _print_script(parser(), arguments.shell))
    )


def _print_script(parser: argparse.ArgumentParser, shell: str) -> None:
    import shtab

    for action in _list_actions(parser):
        if action.dest in _FILES:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
        elif action.dest in _FOLDERS:
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
        elif action.dest in _REPORTS:
            action.complete = _COMPLETE_REPORT  # type: ignore[attr-defined]
    print(shtab.complete(parser, shell=shell, preamble=_PREAMBLE[shell]))


def _list_actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Return the arguments of all commands."""
    actions = list(parser._actions)  # noqa: SLF001 - argparse has no public list; shtab reads this one, too
    for action in parser._actions:  # noqa: SLF001
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            actions += [one for command in action.choices.values() for one in _list_actions(command)]
    return actions
