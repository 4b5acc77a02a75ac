"""``warpdeck profile`` in its own process: real nsys, real PyTorch profiler, real signals."""

import gzip
import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.request import urlopen

import psutil
import pytest

from profiledb import config
from profiledb.library.library import Library
from profiledb.library.locations import open_library
from profiledb.query import captures, views
from tests.conftest import wait_until
from tests.support.page_reports import Publish, insert
from tests.warpdeck.started import MODULE, Desk
from warpdeck.profile_command import answer

pytestmark = pytest.mark.integration
COMMAND = (sys.executable, "-m", "warpdeck", "profile")
TRAIN = """
import sys, time
import torch
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(int(sys.argv[1])):
    optimizer.zero_grad()
    model(torch.randn(4, 8)).mean().backward()
    optimizer.step()
print("trained")
sys.exit(int(sys.argv[2]))
"""
SECRET = "s3cr3t-0123456789"
WAITS = """
import os, sys, time
open(sys.argv[1], "w").close()
try:
    while True:
        time.sleep(0.1)
except KeyboardInterrupt:
    print("interrupted")
    sys.exit(5)
"""


def write(folder: Path, text: str, name: str = "train.py") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def environment(folder: Path, **more: str) -> dict[str, str]:
    root = str(Path(__file__).parents[2])
    return os.environ | {"WARPDECK_DATA": str(folder / "data"), "PYTHONPATH": root, "WARPDECK_NSYS": "off"} | more


def profile(folder: Path, *words: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *map(str, words)],
        cwd=folder, env=environment(folder, **more), capture_output=True, text=True, check=False, timeout=280,
    )  # fmt: skip


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.name not in ("data", "train.py")}


def leftovers(mark: str) -> list[psutil.Process]:
    return [one for one in psutil.process_iter(["cmdline"]) if mark in " ".join(one.info["cmdline"] or ())]


def nsys_path() -> str:
    from ingest import tools

    found = tools.find_nsys()
    assert found is not None
    return str(found.path)


def steps_of(trace: Path) -> int:
    with gzip.open(trace, "rt") as file:
        events = json.load(file)["traceEvents"]
    return sum(str(one.get("name", "")).startswith("Optimizer.step#") for one in events)


def test_a_program_becomes_a_report_with_findings_and_keeps_its_status(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    done = profile(tmp_path, "--", sys.executable, write(tmp_path, TRAIN), "30", "3")
    assert done.returncode == 3, done.stderr
    assert done.stdout == "trained\n", "standard output is the program's"
    assert done.stderr.startswith(
        "Recording with the PyTorch profiler: operators with shapes. There is no nsys here.\n"
    )
    assert names(tmp_path) == {"train.pt.trace.json.gz", "train.meta.json"}
    library = open_library(config.load(library=tmp_path / "data" / "library"))
    (report,) = library.list()
    assert report.name == "train.pt.trace.json.gz"
    assert "finding" in done.stderr
    assert f"Page: warpdeck open {tmp_path}/train.pt.trace.json.gz" in done.stderr
    assert json.loads((tmp_path / "train.meta.json").read_text())["command"][1:] == [f"{tmp_path}/train.py", "30", "3"]


@pytest.mark.slow("runs a program under the profiler")
def test_only_the_steps_that_were_asked_for_are_recorded(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    script = write(tmp_path, TRAIN)
    done = profile(tmp_path, "--record-only", "--steps", "10:14", "--", sys.executable, script, "30", "0")
    assert done.returncode == 0, done.stderr
    assert steps_of(tmp_path / "train.pt.trace.json.gz") == 4


@pytest.mark.slow("runs a program under the profiler")
def test_steps_that_never_come_leave_nothing(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    earlier = {"train.pt.trace.json.gz": b"of an earlier capture", "train.meta.json": b"{}"}
    for name, content in earlier.items():
        (tmp_path / name).write_bytes(content)
    script = write(tmp_path, TRAIN)
    done = profile(tmp_path, "--record-only", "--steps", "50:60", "--", sys.executable, script, "5", "0")
    assert done.returncode == 0
    assert "No step 50 was seen, so nothing was recorded." in done.stderr
    assert names(tmp_path) == earlier.keys(), "nothing new"
    assert {name: (tmp_path / name).read_bytes() for name in earlier} == earlier, "the first capture is still there"


@pytest.mark.slow("runs a program under the profiler")
def test_ranges_that_name_steps_count_before_the_optimizer(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    text = TRAIN.replace(
        "    optimizer.zero_grad()", "    torch.profiler.record_function(f'step_{step + 100}').__enter__()"
    )
    words = ("--record-only", "--steps", "103:105", "--", sys.executable, write(tmp_path, text), "9", "0")
    done = profile(tmp_path, *words)
    assert steps_of(tmp_path / "train.pt.trace.json.gz") == 2, done.stderr


@pytest.mark.parametrize(
    "block",
    [
        "with nvtx.annotate(name):\n        torch.ones(4).sum()",
        pytest.param(
            "nvtx.push_range(name); torch.ones(4).sum(); nvtx.pop_range()",
            marks=pytest.mark.slow("runs a program under the profiler"),
        ),
    ],
)
def test_steps_that_nvtx_names_are_ranges_of_the_trace(tmp_path: Path, block: str) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("nvtx")
    text = f"import nvtx, torch\nfor step in range(9):\n    name = f'step_{{step}}'\n    {block}\n"
    script = write(tmp_path, text)
    done = profile(tmp_path, "--tool", "torch", "--steps", "3:7", "--record-only", "--", sys.executable, script)
    assert done.returncode == 0, done.stderr
    with gzip.open(tmp_path / "train.pt.trace.json.gz", "rt") as file:
        named = [str(one.get("name")) for one in json.load(file)["traceEvents"] if one.get("cat") == "user_annotation"]
    assert sorted(named) == ["step_3", "step_4", "step_5", "step_6"]


@pytest.mark.slow("a launcher and two ranks under the profiler")
def test_every_rank_of_torchrun_has_a_report(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    torchrun = Path(sys.executable).with_name("torchrun")
    words = ("--record-only", "--", torchrun, "--standalone", "--nproc-per-node", "2", write(tmp_path, TRAIN), "3", "0")
    done = profile(tmp_path, *words)
    assert done.returncode == 0, done.stderr
    assert names(tmp_path) == {f"train_rank{rank}{one}" for rank in "01" for one in (".pt.trace.json.gz", ".meta.json")}
    facts = json.loads((tmp_path / "train_rank1.meta.json").read_text())
    assert (facts["rank"], facts["ranks"]) == (1, 2)


@pytest.mark.parametrize(
    ("tool", "ending"),
    [
        pytest.param("nsys", ".nsys-rep", marks=pytest.mark.nsight),
        pytest.param("torch", ".pt.trace.json.gz", marks=pytest.mark.slow("two ranks under the profiler of PyTorch")),
    ],
)
def test_a_rank_of_an_outer_launcher_writes_its_own_and_the_first_waits_for_all(
    tmp_path: Path, tool: str, ending: str
) -> None:
    program, more = ["sh", "-c", "exit 0"], {"WARPDECK_NSYS": nsys_path() if tool == "nsys" else "off"}
    if tool == "torch":
        pytest.importorskip("torch")
        program = [sys.executable, str(write(tmp_path, TRAIN)), "3", "0"]
    command = [*COMMAND, "--tool", tool, "--name", "train", "--record-only", "--", *program]
    ranks = [
        subprocess.Popen(
            command, cwd=tmp_path, stderr=subprocess.PIPE, text=True,
            env=environment(tmp_path, SLURM_PROCID=str(rank), SLURM_STEP_NUM_TASKS="2", SLURM_LOCALID=str(rank),
                            SLURM_JOB_ID="77", SLURM_STEP_ID="0", **more),
        )
        for rank in range(2)
    ]  # fmt: skip
    said = [one.communicate(timeout=200)[1] for one in ranks]
    assert [one.returncode for one in ranks] == [0, 0], said
    assert f"rank 1: {tmp_path}/train_77-0_rank1{ending}" in said[1]
    assert {name for name in names(tmp_path) if name.endswith(ending)} == {
        f"train_77-0_rank{rank}{ending}" for rank in range(2)
    }


@pytest.mark.nsight
def test_captures_take_names_that_are_free(tmp_path: Path) -> None:
    (tmp_path / "train.pt.trace.json.gz").write_bytes(b"of an earlier capture")
    words = (
        "--tool",
        "nsys",
        "--name",
        "train",
        "--record-only",
        "--without",
        "os,threads",
        "--",
        "sh",
        "-c",
        "exit 0",
    )
    for _ in range(2):
        assert profile(tmp_path, *words, WARPDECK_NSYS=nsys_path()).returncode == 0
    assert (tmp_path / "train.pt.trace.json.gz").read_bytes() == b"of an earlier capture"
    assert {name for name in names(tmp_path) if name.endswith("-rep")} == {f"train-{n}.nsys-rep" for n in (2, 3)}


@pytest.mark.slow("runs two programs under the profiler")
def test_traces_take_names_that_are_free(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    script = write(tmp_path, TRAIN)
    (tmp_path / "train.nsys-rep").write_bytes(b"of an earlier capture")
    words = ("--record-only", "--", sys.executable, script, "2", "0")
    for _ in range(2):
        assert profile(tmp_path, *words).returncode == 0
    assert (tmp_path / "train.nsys-rep").read_bytes() == b"of an earlier capture"
    assert {name for name in names(tmp_path) if name.endswith(".gz")} == {f"train-{n}.pt.trace.json.gz" for n in (2, 3)}


@pytest.mark.parametrize(
    ("words", "status", "sentence"),
    [
        ([], 2, 'warpdeck profile: Name a program after "--", as in: warpdeck profile -- python train.py\n'),
        (["--", "no-such-program"], 1, "There is no program 'no-such-program'."),
        (["--steps", "9:3", "--", "true"], 2, "warpdeck profile: argument --steps: '9:3' are no steps"),
        (["--with", "nonsense", "--", "true"], 2, "warpdeck profile: argument --with: 'nonsense' is not one of cuda, "),
        (["--name", "../x", "--", "true"], 2, "warpdeck profile: argument --name: '../x' is no name of a file"),
        (["--seconds", "nan", "--", "true"], 2, "warpdeck profile: argument --seconds: 'nan' is no number of seconds"),
        (["--", "true"], 1, "There is no nsys here, and the program does not use PyTorch."),
        (["--tool", "nsys", "--", "true"], 1, "There is no nsys here."),
        (["--steps", "1:2", "--tool", "torch", "--", "true"], 1, "The PyTorch profiler needs a Python program"),
        (["-o", "/proc/nowhere", "--", sys.executable, "-c", "1"], 1, "/proc/nowhere cannot be written: "),
    ],
)
def test_one_sentence_says_what_is_wrong(tmp_path: Path, words: Sequence[str], status: int, sentence: str) -> None:
    if "/proc/nowhere" in words:
        pytest.importorskip("torch")
    done = profile(tmp_path, *words)
    assert done.returncode == status
    assert done.stderr.startswith(sentence), done.stderr
    assert done.stderr.count("\n") == 1
    assert names(tmp_path) == set()


@pytest.mark.slow("runs a program under the profiler")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may write where others may not")
def test_a_full_disk_is_a_sentence_and_the_program_s_status_stays(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    command = shlex.join([*COMMAND, "--tool", "torch", "--", sys.executable, str(write(tmp_path, TRAIN)), "30", "3"])
    done = subprocess.run(
        ["bash", "-c", f"ulimit -f 8; {command}"],
        cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True, check=False, timeout=280,
    )  # fmt: skip
    assert done.returncode == 3, done.stderr
    assert "trained" in done.stdout
    assert "cannot be written. Check permissions and free space of" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_what_the_profiler_warned_of_is_told_where_it_recorded_no_kernel(
    library: Library, publish: Publish, capsys: pytest.CaptureFixture[str]
) -> None:
    """An nsys that is too old for the driver writes a report with calls but no kernels, and says so in it."""
    text = "Installed CUDA driver version (13.0) is not supported by this build of Nsight Systems."
    rows = [
        {"severity": "warning", "source": "Injection", "text": f"{text}\x1b[31m"},
        {"severity": "info", "source": "Injection", "text": "All is well."},
    ]
    answer.print_findings(library, library.find(publish(lambda db: insert(db, "diagnostic", rows))))
    said = capsys.readouterr().out
    assert f"The profiler says: {text}" in said
    assert "All is well" not in said
    assert "\x1b" not in said


@pytest.mark.parametrize(
    "imports", ["sys", pytest.param("sys, torch", marks=pytest.mark.slow("runs a program under the profiler"))]
)
def test_arguments_of_the_program_stay_its_own(tmp_path: Path, imports: str) -> None:
    pytest.importorskip("torch")
    script = write(tmp_path, f"import {imports}\nprint(sys.argv[1:])\n")
    hostile = ["--steps", "-o", "a b", "$(id)", "'\"", "", "--", "\x1b[31m"]
    done = profile(tmp_path, "--tool", "torch", "--record-only", "--", sys.executable, script, *hostile)
    assert done.stdout == f"{hostile}\n"


@pytest.mark.slow("runs a program under the profiler and starts a server")
def test_the_page_opens_and_is_served_until_ctrl_c(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    desk = Desk(tmp_path, (*MODULE, "profile"))
    monkeypatch.setenv("WARPDECK_NSYS", "off")
    words = ("--open", "-o", tmp_path, "--", sys.executable, write(tmp_path, TRAIN), "3", "6")
    with desk.running(*words) as process:
        (address,) = desk.opened()
        assert urlopen(address.split("?")[0]).status == 200
        (report,) = open_library(config.load(library=desk.library)).list()
        assert f"report={report.id}" in address
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 6, "the program's own status"


@pytest.mark.nsight
def test_nsys_records_and_no_secret_of_the_environment_is_in_the_report(tmp_path: Path) -> None:
    script = write(tmp_path, "import os, subprocess, sys\nprint(os.environ['MY_TOKEN'])\n"
                   "subprocess.run([sys.executable, '-c', '1'], env=os.environ | {'CHILD_API_KEY': 'k-987654321'})\n"
                   "sys.exit(4)\n")  # fmt: skip
    folder = tmp_path / "with a space"
    done = profile(
        tmp_path, "--tool", "nsys", "--record-only", "--without", "os", "-o", folder, "--", sys.executable, script,
        MY_TOKEN=SECRET, PLAIN_SETTING="seen-by-nobody", WARPDECK_NSYS=nsys_path(),
    )  # fmt: skip
    assert done.returncode == 4, done.stderr
    assert done.stdout == f"{SECRET}\n", "the program has its environment"
    (report,) = folder.glob("train.*-rep")
    content = report.read_bytes()
    assert SECRET.encode() not in content
    assert b"PLAIN_SETTING=seen-by-nobody" not in content
    assert b"k-987654321" not in content
    assert b"MY_TOKEN=" + b"*" * len(SECRET) in content
    assert report.name == "train.nsys-rep", "it is a report, and can be exported"
    exported = tmp_path / "out.sqlite"
    subprocess.run([nsys_path(), "export", "--type=sqlite", "-o", exported, report], check=True, capture_output=True)
    assert SECRET.encode() not in exported.read_bytes()


@pytest.mark.nsight
@pytest.mark.parametrize(
    "number", [pytest.param(signal.SIGINT, marks=pytest.mark.slow("another signal under nsys")), signal.SIGTERM]
)
def test_a_signal_ends_the_program_and_keeps_what_was_recorded(tmp_path: Path, number: signal.Signals) -> None:
    started, script = tmp_path / "started", write(tmp_path, WAITS, "waits.py")
    process = subprocess.Popen(
        [*COMMAND, "--tool", "nsys", "--record-only", "--", sys.executable, script, started],
        cwd=tmp_path, env=environment(tmp_path, WARPDECK_NSYS=nsys_path()), stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    wait_until(started.exists, 60)
    process.send_signal(number)
    said, _ = process.communicate(timeout=120)
    assert process.returncode == (5 if number == signal.SIGINT else 128 + number)
    assert said == ("interrupted\n" if number == signal.SIGINT else "")
    assert (tmp_path / "waits.nsys-rep").stat().st_size > 0
    assert leftovers(str(script)) == []


@pytest.mark.nsight
def test_a_crash_under_nsys_is_told(tmp_path: Path) -> None:
    words = ("--tool", "nsys", "--record-only", "--", "sh", "-c", "kill -SEGV $$")
    done = profile(tmp_path, *words, WARPDECK_NSYS=nsys_path())
    assert done.returncode == 128 + signal.SIGSEGV
    assert "The program crashed (SIGSEGV)" in done.stderr


@pytest.mark.nsight
@pytest.mark.slow("two ranks under nsys")
def test_ctrl_c_below_torchrun_keeps_the_report_of_each_rank(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    script = write(tmp_path, "import os, time\nopen('started' + os.environ['RANK'], 'w').close()\ntime.sleep(200)\n")
    torchrun = Path(sys.executable).with_name("torchrun")
    words = ["--tool", "nsys", "--record-only", "--without", "os,threads", "--", str(torchrun), "--standalone"]
    process = subprocess.Popen(
        [*COMMAND, *words, "--nproc-per-node", "2", script],
        cwd=tmp_path, env=environment(tmp_path, WARPDECK_NSYS=nsys_path()), stderr=subprocess.DEVNULL,
    )  # fmt: skip
    wait_until(lambda: all((tmp_path / f"started{rank}").exists() for rank in range(2)), 120)
    process.send_signal(signal.SIGINT)
    assert process.wait(200) != 0
    assert {path.name for path in tmp_path.glob("*.nsys-rep")} == {"train_rank0.nsys-rep", "train_rank1.nsys-rep"}
    assert leftovers(str(script)) == []


@pytest.mark.nsight
def test_a_window_in_time_leaves_the_program_running(tmp_path: Path) -> None:
    words = ("--tool", "nsys", "--seconds", "1", "--record-only", "--name", "train", "--without", "os,threads")
    done = profile(tmp_path, *words, "--", "sh", "-c", "sleep 6; echo to its end; exit 7", WARPDECK_NSYS=nsys_path())
    assert (done.returncode, done.stdout) == (7, "to its end\n"), done.stderr
    assert "The program runs on." in done.stderr
    assert names(tmp_path) == {"train.nsys-rep", "train.meta.json"}


@pytest.mark.nsight
@pytest.mark.slow("runs a program under the profiler and judges its report")
def test_a_window_in_time_ends_before_the_program(tmp_path: Path) -> None:
    script = write(tmp_path, "import sys, time\ntime.sleep(6)\nprint('to its end')\nsys.exit(7)\n")
    words = ("--tool", "nsys", "--seconds", "1", "--", sys.executable, script, "an argument")
    done = profile(tmp_path, *words, WARPDECK_NSYS=nsys_path())
    assert (done.returncode, done.stdout) == (7, "to its end\n"), done.stderr
    assert "The program runs on." in done.stderr
    assert names(tmp_path) == {"train.nsys-rep", "train.meta.json"}
    library = Library(tmp_path / "data" / "library")
    (report,) = library.list()
    assert report.command == f"{sys.executable} {script} an argument", "without the shell in which it runs"
    with library.cursor(report.id, views=views.list_needed(captures.INCLUDES)) as cursor:
        assert shlex.split(captures.find_program(cursor)) == [sys.executable, str(script), "an argument"]
