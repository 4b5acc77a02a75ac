"""The command line of the workloads: every help has an example, an error is one line with an exit status."""

from __future__ import annotations

import argparse
import shlex

import pytest

pytest.importorskip("torch")

from workloads.__main__ import main
from workloads.registry import WORKLOADS, load


@pytest.mark.parametrize("name", WORKLOADS)
def test_help_ends_with_an_example_and_the_exit_statuses(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["run", name, "--help"])
    example, status = capsys.readouterr().out.splitlines()[-2:]
    assert ended.value.code == 0
    assert status.startswith("Exit status: 0; 1 after an error; 2 ")
    words = shlex.split(example.partition(f"python -m workloads run {name}")[2])
    assert words
    load(name).add_options(parser := argparse.ArgumentParser())
    parser.parse_args(words)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "nothing"], "python -m workloads run: argument NAME: invalid choice: 'nothing'"),
        (["run", "tasks", "--x"], "python -m workloads run tasks: unrecognized arguments: --x"),
        (["profile", "idle", "--tool", "gdb"], "python -m workloads profile: argument --tool: invalid choice: 'gdb'"),
        ([], "python -m workloads: the following arguments are required: COMMAND"),
    ],
)
def test_a_wrong_command_line_is_one_line_and_status_2(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    error = capsys.readouterr().err
    assert (ended.value.code, error.count("\n")) == (2, 1)
    assert error.startswith(said)
    assert error.endswith("--help\n")
