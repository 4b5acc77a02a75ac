"""`python -m workloads profile`: its commands, the environment of the program, and the files of a run."""

from __future__ import annotations

import csv
import gzip
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from warpdeck.profiling import launchers
from warpdeck.profiling.nvml import has_gpu
from workloads import profile
from workloads.__main__ import main
from workloads.clean_room import make_clean_environment
from workloads.ranges import Stopwatch
from workloads.ranks import split_torchrun
from workloads.record import read_prefix

PYTHON = launchers.python_beside("torchrun")
LINES = 'import sys\nprint("own program", sys.argv[1:])\nsys.exit(0)\n'


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    assert main(["profile", *words]) == 0
    return shlex.split(capsys.readouterr().out)


def after(command: list[str], word: str) -> str:
    return command[command.index(word) + 1]


def test_a_workload_gets_its_options_and_nsys_the_rest(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NSYS", "/opt/x/nsys")
    words = ["tasks", "--sizes", "8,16", "--print", "-o", str(tmp_path), "--device", "cpu", "--arg=--trace=cuda"]
    command = printed(capsys, *words)
    assert command[:2] == ["env", "-i"]
    assert command[command.index("/opt/x/nsys") :][:4] == ["/opt/x/nsys", "profile", "-o", f"{tmp_path}/tasks"]
    assert command[-7:] == ["-m", "workloads", "run", "tasks", "--sizes", "8,16", "--device", "cpu"][-7:]
    assert [word for word in command if word.startswith("--trace")] == ["--trace=cuda"]
    assert f"WORKLOADS_RECORD={tmp_path}/tasks" in command
    assert not any(word.startswith("--capture-range") for word in command)  # the CPU has no window
    assert list(tmp_path.iterdir()) == []


def test_a_window_is_asked_of_both_profilers(capsys: pytest.CaptureFixture[str]) -> None:
    nsys = printed(capsys, "kernels", "--capture", "window", "--print")
    assert "--capture-range=cudaProfilerApi" in nsys
    ncu = printed(capsys, "kernels", "--capture", "window", "--tool", "ncu", "--print", "--arg=--set=basic")
    assert after(ncu, "--profile-from-start") == "off"
    assert after(ncu, "--set") == "basic"


def test_an_option_of_a_workload_is_none_of_the_profilers(capsys: pytest.CaptureFixture[str]) -> None:
    command = printed(capsys, "queue", "--record", "40", "--capture", "window", "--print")
    assert command[-4:] == ["run", "queue", "--record", "40"]
    assert "--capture-range=cudaProfilerApi" in command


def test_an_own_program_is_recorded_whole_under_its_own_name(capsys: pytest.CaptureFixture[str]) -> None:
    command = printed(capsys, "--print", "--", "python", "my_script.py", "--print")
    assert command[-3:] == ["python", "my_script.py", "--print"]
    assert Path(after(command, "-o")).name == "my_script"
    assert not any(word.startswith("--capture-range") for word in command)


def test_files_go_to_the_inbox_of_the_dashboard(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("WARPDECK_INBOX", "WARPDECK_DATA"):
        monkeypatch.delenv(name, raising=False)
    assert profile.find_inbox() == Path("inbox")
    monkeypatch.setenv("WARPDECK_DATA", "/data")
    assert profile.find_inbox() == Path("/data/inbox")
    monkeypatch.setenv("WARPDECK_INBOX", "/in")
    assert profile.find_inbox() == Path("/in")


def test_the_profiler_runs_inside_torchrun_for_several_ranks(capsys: pytest.CaptureFixture[str]) -> None:
    command = printed(capsys, "ddp", "--ranks", "2", "--print")
    words = ["torch.distributed.run", "--no-python", "-o", "run"]
    assert sorted(words, key=command.index) == words
    assert after(command, "--nproc-per-node") == "2"
    assert after(command, "-o").endswith("ddp_rank%q{RANK}")


@pytest.mark.parametrize(
    ("program", "launcher", "rank_program"),
    [
        (["python", "a.py"], [], ["python", "a.py"]),
        (
            ["torchrun", "--nproc-per-node", "4", "a.py", "--x", "1"],
            ["torchrun", "--nproc-per-node", "4", "--no-python"],
            [PYTHON, "a.py", "--x", "1"],
        ),
        (
            ["python", "-m", "torch.distributed.run", "--standalone", "-m", "a.b", "-m"],
            [*["python", "-m", "torch.distributed.run", "--standalone", "--local-addr", "127.0.0.1"], "--no-python"],
            ["python", "-m", "a.b", "-m"],
        ),
        (["torchrun", "--no-python", "x"], ["torchrun", "--no-python"], ["x"]),
    ],
)
def test_torchrun_is_told_from_what_it_runs(program: list[str], launcher: list[str], rank_program: list[str]) -> None:
    assert split_torchrun(program) == (launcher, rank_program)


def test_the_environment_holds_no_secret() -> None:
    shell = {"PATH": "/bin", "HOME": "/home/me", "TOKEN": "secret", "WANTED": "1", "CUDA_VISIBLE_DEVICES": "3"}
    words = make_clean_environment({"A": "b"}, ["WANTED"], shell)
    kept = ["PATH=/bin", "HOME=/home/me", "LANG=C.UTF-8", "CUDA_VISIBLE_DEVICES=3", "WANTED=1", "A=b"]
    assert words == ["env", "-i", *kept]


def test_a_rank_stands_in_the_path_as_nsys_writes_it() -> None:
    assert read_prefix({"WORKLOADS_RECORD": "/x/ddp_rank%q{RANK}", "RANK": "3"}) == Path("/x/ddp_rank3")
    assert read_prefix({}) is None


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "Say what to profile: a workload's name first, or `--` and a program."),
        (["nothing"], "There is no workload called 'nothing': choose from attention, "),
        (["--trace", "--", "x"], "profile has no option --trace."),
        (["tasks", "-o", "/tmp/a b"], "nsys cannot write to a path with a space in it: '/tmp/a b/tasks'."),
        (["idle", "--tool", "torch", "--arg=--x"], "--tool torch has no option --x: choose from --with_stack, "),
        (["--tool", "torch", "--", "./x"], "--tool torch runs Python programs only, as in: "),
    ],
)
def test_one_sentence_says_what_is_wrong(
    words: list[str], sentence: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NSYS", sys.executable)
    assert main(["profile", *words]) == 1
    error = capsys.readouterr().err
    assert error.startswith(sentence)
    assert error.count("\n") == 1


@pytest.mark.parametrize("tool", ["nsys", "ncu"])
def test_a_missing_profiler_is_one_sentence(
    tool: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(tool.upper(), "/nowhere/tool")
    assert main(["profile", "kernels", "--tool", tool]) == 1
    assert capsys.readouterr().err.startswith(f"${tool.upper()} names /nowhere/tool, which is no program: install it,")


@pytest.mark.skipif(has_gpu(), reason="there is a GPU")
def test_what_needs_a_gpu_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", "kernels", "--tool", "nvml"]) == 1
    expected = "--tool nvml needs a GPU, and there is none here: choose --tool nsys or torch.\n"
    assert capsys.readouterr().err == expected


def test_the_path_of_a_range_is_kept_without_its_step() -> None:
    watch = Stopwatch()
    for path in (["batch_8", "step_2", "add"], ["warmup", "add"], ["step_1"], ["other"]):
        for name in path:
            watch.start(name)
        for _ in path:
            watch.stop()
    expected = [("batch_8/add", "2"), ("batch_8", "2"), ("batch_8", ""), ("add", "warmup"), ("warmup", "warmup")]
    assert [row[:2] for row in watch.rows] == [*expected, ("step_1", "1"), ("other", "")]


@pytest.mark.slow("runs a workload under the profiler")
def test_a_workload_leaves_trace_times_and_facts(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    words = ["idle", "--tool", "torch", "-o", str(tmp_path), "--device", "cpu", "--steps", "2", "--warmup", "1"]
    assert main(["profile", *words, "--arg=--with_stack", "--arg=--profile_memory"]) == 0
    with (tmp_path / "idle.timings.csv").open(newline="") as lines:
        rows = [(row["label"], row["step"]) for row in csv.DictReader(lines)]
    assert ("forward_mlp", "1") in rows
    assert ("backward_mlp", "warmup") in rows
    meta = json.loads((tmp_path / "idle.meta.json").read_text())
    assert (meta["workload"], meta["precision"], meta["options"]["steps"]) == ("idle", "fp32", 2)
    assert meta["flops_per_step"] == 2 * 32 * 64**2 * (3 * 4 - 1)  # the first layer's input needs no gradient
    assert meta["versions"]["torch"]
    with gzip.open(tmp_path / "idle.pt.trace.json.gz", "rt") as file:
        events = json.load(file)["traceEvents"]
    names = [event.get("name") for event in events]
    assert "[memory]" in names
    assert any(event.get("cat") == "python_function" for event in events)
    assert names.count("warmup") == 1  # and nothing of what came before the window
    assert names.count("forward_mlp") == 3


@pytest.mark.slow("runs a program under the profiler")
def test_an_own_program_leaves_a_trace_and_its_command(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    script = tmp_path / "own.py"
    script.write_text(LINES)
    words = ["--tool", "torch", "-o", str(tmp_path / "out"), "--", sys.executable, str(script), "--x"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-m", "workloads", "profile", *words]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert "own program ['--x']" in done.stdout
    assert (tmp_path / "out" / "own.pt.trace.json.gz").exists()
    meta = json.loads((tmp_path / "out" / "own.meta.json").read_text())
    assert meta["command"][1:] == [str(script), "--x"]


@pytest.mark.slow("runs programs under the profiler")
def test_an_earlier_capture_stays(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "own.nsys-rep").write_bytes(b"of nsys")
    script = tmp_path / "own.py"
    script.write_text(LINES)
    assert main(["profile", "--tool", "torch", "-o", str(tmp_path), "--", sys.executable, str(script)]) == 0
    assert (tmp_path / "own.nsys-rep").read_bytes() == b"of nsys"
    assert (tmp_path / "own-2.pt.trace.json.gz").exists()
