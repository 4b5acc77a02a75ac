"""Messages and exit statuses of commands on a terminal."""

import io
import sys

import pytest

from profiledb import terminal
from profiledb.errors import DamagedError, WarpdeckError


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("variables", "drawn"),
    [
        ({"TERM": "xterm"}, True),
        ({"TERM": "dumb"}, False),
        ({"TERM": ""}, False),
        ({}, False),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False),
        ({"TERM": "xterm", "NO_COLOR": ""}, True),  # as no-color.org has it
    ],
)
def test_progress_is_drawn_on_a_terminal_that_can(
    variables: dict[str, str], drawn: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TERM", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert terminal.draws(Terminal()) is drawn
    assert not terminal.draws(io.StringIO())


def test_what_is_said_stays_on_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.say("a\x1b[2J\nb\rc\x9b31m\N{RIGHT-TO-LEFT OVERRIDE}d")
    assert capsys.readouterr().out == "a [2J b c 31m d\n"


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (WarpdeckError("It is wrong.", hint="Mend it."), 7, "It is wrong. Mend it."),
        (DamagedError("It is\nbroken."), 8, "It is broken."),
        (FileNotFoundError(2, "No such file or directory", "/x/\x1b[1my"), 7, "/x/ [1my: No such file or directory."),
        (OSError("odd"), 7, "Warpdeck failed: OSError: odd. Please report this"),
        (ZeroDivisionError("x"), 7, "Warpdeck failed: ZeroDivisionError: x. Please report this"),
        (KeyboardInterrupt(), terminal.INTERRUPTED, ""),
    ],
)
def test_an_error_is_one_line_and_a_status(
    error: BaseException, status: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def action() -> int:
        raise error

    assert terminal.run_guarded(action, trouble=7, damaged=8) == status
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", bool(words))
    assert said.err.startswith(words)


def test_the_status_of_a_command_is_its_own() -> None:
    assert terminal.run_guarded(lambda: None) == 0
    assert terminal.run_guarded(lambda: 5) == 5


def test_developers_see_where_it_happened(monkeypatch: pytest.MonkeyPatch) -> None:
    class Flags:
        dev_mode = True

    monkeypatch.setattr(sys, "flags", Flags)
    with pytest.raises(ZeroDivisionError):
        terminal.run_guarded(lambda: 1 // 0)
