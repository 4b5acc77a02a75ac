"""The command line as a whole: every command has help and an example, errors are sentences, and it starts fast."""

import argparse
import os
import re
import resource
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from profiledb import terminal
from profiledb.access.cli import main as of_library
from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.report.schema import SCHEMA_VERSION
from tests.conftest import ROOT
from warpdeck import main as command

HEAVY = (
    "duckdb",
    "pandas",
    "numpy",
    "streamlit",
    "pyarrow",
    "rich",
    "shtab",
    "ingest.worker",
    "app.worker_process",
    "asyncio",
)
MOST_CPU_S = 0.3


def commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    (found,) = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return dict(found.choices)


ALL = commands(command.make_parser())


def warpdeck(*argv: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "warpdeck", *argv],
        cwd=ROOT, env=os.environ | environment, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_there_are_all_commands_of_the_library_and_its_own() -> None:
    own = {"serve", "open", "profile", "push", "watch", "ingest", "completion", "mcp", "token", "migrate"}
    old = of_library.COMMANDS
    assert len(ALL) == len(old) + len(own)
    assert own < set(ALL)
    assert {module.__name__.rpartition(".")[2] for module in old} == set(ALL) - own


def test_the_help_lists_every_command_once_in_its_group() -> None:
    assert sorted(name for names in command.GROUPS.values() for name in names) == sorted(ALL)
    text = command.make_parser().format_help()
    places = [text.index(f"\n  {heading}:\n") for heading in ("Read", "Share", "Operate")]
    assert places == sorted(places)
    assert places[0] < text.index("\n    summary ") < places[1] < text.index("\n    html ") < places[2]


@pytest.mark.parametrize("name", ALL)
def test_a_command_has_an_example_that_it_understands(name: str) -> None:
    text = ALL[name].format_help()
    found = re.search(rf"Example: (?:eval \"\$\()?warpdeck {name}([^|\"#\n]*)", text)
    assert found, text
    given = shlex.split(found[1].rstrip(")"))
    command.make_parser().parse_args([name, *given])


@pytest.mark.parametrize("name", ALL)
def test_a_command_says_its_exit_statuses(name: str) -> None:
    """Those that every command has; the two commands with a limit explain 1 and 2."""
    text = ALL[name].format_help()
    if name == "completion":
        return
    (said,) = re.findall(r"Exit status: 0([^$]+)", text)
    assert re.search(r"; 1 (?:after an error|if )", said)
    assert re.search(r"; 2 (?:for a wrong command line|after any error)", said)


@pytest.mark.parametrize("name", ALL)
def test_help_fits_a_terminal_and_ends_with_status_0(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        command.main([name, "--help"])
    assert ended.value.code == 0
    described = capsys.readouterr().out.partition("positional arguments")[0].partition("options:")[0]
    assert max(map(len, described.splitlines())) <= 100


def test_help_imports_nothing_heavy_and_is_fast() -> None:
    code = "import sys; from warpdeck.main import make_parser; make_parser().format_help(); print(*sys.modules)"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert not set(HEAVY) & set(done.stdout.split())
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < MOST_CPU_S


def test_without_a_command_it_serves() -> None:
    for given in ([], ["--port", "8600"]):
        assert command._insert_default_command(given) == ["serve", *given]
    for given in (["list"], ["--help"], ["--version"]):
        assert command._insert_default_command(given) == given


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("lst",), "invalid choice: 'lst'"),
        (("serve", "--port", "70000"), "invalid port value"),
        (("serve", "--port", "-1"), "invalid port value"),
        (("open", "-x.nsys-rep"), "unrecognized arguments"),
        (("open", "--\x1b[31m\nx"), "unrecognized arguments"),
        (("run", "class_split"), "one of the arguments REPORT --run is required"),
        (("completion", "tcsh"), "invalid choice"),
    ],
)
def test_a_wrong_command_line_is_one_line_and_status_2(
    argv: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        command.main(list(argv))
    said = capsys.readouterr()
    assert (ended.value.code, said.out, said.err.count("\n")) == (terminal.USAGE, "", 1)
    assert words in said.err
    assert "\x1b" not in said.err


def test_a_name_with_a_dash_can_be_given() -> None:
    for given in (["./-x.nsys-rep"], ["--", "-x.nsys-rep"]):
        assert [path.name for path in command.make_parser().parse_args(["open", *given]).files] == ["-x.nsys-rep"]


@pytest.mark.slow("starts six processes")
def test_the_old_forms_do_the_same(tmp_path: Path) -> None:
    pairs = [
        (("list", "--format", "json"), "profiledb"),
        (("run", "nothing", "x"), "profiledb"),
        (("ingest", "--once"), "ingest"),
    ]
    for argv, module in pairs:
        given = [*argv[module == "ingest" :], "--library", str(tmp_path / "library")]
        given += ["--inbox", str(tmp_path / "inbox")] if module == "ingest" else []
        old = subprocess.run(
            [sys.executable, "-m", module, *given], cwd=ROOT, capture_output=True, check=False, text=True
        )
        new = warpdeck(*argv[: module == "ingest"], *given)
        assert (old.returncode, old.stdout, old.stderr) == (new.returncode, new.stdout, new.stderr)


def test_a_reader_that_leaves_early_is_no_error() -> None:
    script = 'set -o pipefail; "$0" -m warpdeck analyses | head -1'
    done = subprocess.run(["bash", "-c", script, sys.executable], cwd=ROOT, capture_output=True, check=False)
    assert (done.returncode, done.stdout.count(b"\n"), done.stderr) == (0, 1, b"")


def test_a_folder_that_cannot_be_is_a_sentence(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for argv in (
        ("list", "--library", str(file)),
        ("ingest", "--once", "--library", str(file)),
        ("open", "x", "--library", str(file)),
    ):
        done = warpdeck(*argv)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1), argv
        assert str(file) in done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_completion_knows_every_command(shell: str) -> None:
    script = warpdeck("completion", shell).stdout
    assert all(name in script for name in ALL)


def test_bash_completes_commands_options_and_files(tmp_path: Path) -> None:
    (tmp_path / "my.nsys-rep").touch()
    completed = bash(tmp_path)
    assert completed("cross") == ["crossover"]
    assert "--fail-above" in completed("compare", "--fa")
    assert completed("run", "--format", "j") == ["json"]
    assert completed("open", "my") == ["my.nsys-rep"]


def test_the_list_asks_the_catalog_alone(tmp_path: Path) -> None:
    listed = ["list", "--library", str(tmp_path)]
    code = f"import sys; from profiledb.access.cli.main import main; main({listed}); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not set(HEAVY) & set(done.stdout.split())


def test_bash_completes_reports_by_name_and_id(tmp_path: Path) -> None:
    """A name with special characters of the shell is completed by its id, and so are two reports with one name."""
    hostile = f"$(touch {tmp_path}/ran).nsys-rep"
    reports = {"0a": "train one.nsys-rep", "0b": hostile, "0c": "train.nsys-rep", "0d": "two", "0e": "two", "0f": "-x"}
    catalog = Library(tmp_path / "library").catalog
    for report_id, name in reports.items():
        catalog.add_report(Manifest(report_id, SCHEMA_VERSION, name, "nsys", report_id, 1))
    completed = bash(tmp_path, WARPDECK_LIBRARY=str(tmp_path / "library"))
    assert sorted(completed("summary", "0")) == sorted(reports)
    for words in (("summary", "tr"), ("compare", "0a", "tr"), ("scaling", "0a", "0c", "tr"), ("run", "kernels", "tr")):
        assert completed(*words) == ["train.nsys-rep"], words
    assert completed("summary", "$") == completed("summary", "two") == completed("link", "tw") == []
    assert not (tmp_path / "ran").exists()


def test_the_script_for_zsh_completes_reports() -> None:
    script = warpdeck("completion", "zsh").stdout
    assert "warpdeck list --format words" in script
    assert re.search(r":report before the change.*:_warpdeck_reports", script)


def bash(folder: Path, **environment: str) -> Callable[..., list[str]]:
    """The completions that bash offers in this folder for the last word of a command."""
    script = folder / "completion.bash"
    script.write_text(warpdeck("completion", "bash").stdout)
    command = folder / "bin" / "warpdeck"
    command.parent.mkdir()
    command.write_text(
        f'#!/bin/sh\ncd {shlex.quote(str(ROOT))} && exec {shlex.quote(sys.executable)} -m warpdeck "$@"\n'
    )
    command.chmod(0o755)
    path = f"{command.parent}{os.pathsep}{os.environ['PATH']}"

    def completed(*words: str) -> list[str]:
        ask = f"""
          source "{script}"; cd "{folder}"
          function_of=$(complete -p warpdeck | sed 's/.*-F \\([^ ]*\\) .*/\\1/')
          COMP_WORDS=({shlex.join(["warpdeck", *words])}); COMP_CWORD={len(words)}
          "$function_of"; printf '%s\\n' "${{COMPREPLY[@]}}"
        """
        environment_of = os.environ | environment | {"PATH": path}
        done = subprocess.run(["bash", "-c", ask], env=environment_of, capture_output=True, text=True, check=False)
        return [word for word in done.stdout.splitlines() if word]

    return completed
