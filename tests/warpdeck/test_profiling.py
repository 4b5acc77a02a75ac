"""The parts of ``warpdeck profile``: options of profilers, launchers, ranks, masked environments, ncu's kernels."""

import argparse
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

from ingest import tools
from ingest.nsys import launch_environment
from ingest.scrub.secret_names import holds_secret
from profiledb import config
from profiledb.errors import ConfigError
from profiledb.library.library import Library
from profiledb.library.locations import open_library
from profiledb.query import analysis
from tests.conftest import SAMPLES, ingest_files, wait_until
from warpdeck import main
from warpdeck.profile_command import answer, deep, plan, session
from warpdeck.profiling import launchers, masking, ncu, nsys, nvml
from warpdeck.profiling.child import Child
from warpdeck.profiling.errors import ProfilingError
from warpdeck.profiling.ranks import Rank, read_rank
from warpdeck.profiling.recording import Plan, make_child

HELP_2023 = "--trace --cuda-graph-trace --cuda-memory-usage --cpuctxsw --gpu-metrics-device= --gpu-metrics-frequency"
HELP_2025 = HELP_2023.replace("--gpu-metrics-device=", "--gpu-metrics-devices=")


def options(help_text: str, *further: str, without: tuple[str, ...] = (), cpu: bool = True) -> dict[str, str]:
    records, _ = nsys.choose_records(further, without, cpu=cpu, gpu=True)
    return nsys.make_options(records, help_text)


def test_each_version_gets_the_spelling_that_it_knows() -> None:
    assert options(HELP_2023, "metrics")["--gpu-metrics-device"] == "all"
    assert "--gpu-metrics-devices" not in options(HELP_2023, "metrics")
    assert options(HELP_2025, "metrics")["--gpu-metrics-devices"] == "all"
    assert "--python-sampling" not in options(HELP_2023, "python"), "an option that it does not list would stop it"


def test_records_are_added_and_left_out() -> None:
    assert options(HELP_2023)["--trace"] == "cuda,nvtx,osrt"
    chosen = options(HELP_2023, "mpi", without=("os", "memory"))
    assert chosen["--trace"] == "cuda,nvtx,mpi"
    assert "--cuda-memory-usage" not in chosen
    assert options(HELP_2023, without=("cuda", "nvtx", "os"))["--trace"] == "none"
    with pytest.raises(ProfilingError, match="There is no record 'all': choose from cuda, "):
        nsys.choose_records(["all"], [], cpu=True, gpu=True)


def test_a_machine_that_allows_less_is_told() -> None:
    records, lacking = nsys.choose_records(["metrics"], [], cpu=False, gpu=False)
    assert [one.name for one in records] == ["cuda", "nvtx", "os", "memory"]
    assert [one.split(":")[0] for one in lacking] == ["Without thread scheduling", "Without GPU metrics"]
    assert options(HELP_2023, cpu=False)["--cpuctxsw"] == "none"


def test_options_of_the_user_replace_ours() -> None:
    command = nsys.make_command("nsys", "out", {"--trace": "cuda"}, ["--trace=nvtx", "--wait=all"], ["x", "--trace"])
    assert command[:4] == ["nsys", "profile", "-o", "out"]
    assert [word for word in command if word.startswith("--trace")] == ["--trace=nvtx", "--trace"]
    assert command[-3:] == ["--wait=all", "x", "--trace"]


@pytest.mark.nsight
def test_the_installed_nsys_knows_every_option() -> None:
    found = tools.find_nsys()
    assert found is not None
    text = tools.run([found.path, "profile", "--help"], timeout=tools.ANSWER_S).stdout
    for record in nsys.RECORDS:
        for spellings in record.options:
            assert any(one.partition("=")[0] in text for one in spellings), spellings


@pytest.fixture
def python() -> str:
    return shutil.which("python3") or sys.executable


@pytest.mark.parametrize(
    ("words", "launcher", "program"),
    [
        (["./a.out", "-n", "3"], [], ["./a.out", "-n", "3"]),
        (["mpirun", "-np", "4", "--mca", "a", "b", "sh", "x"], ["mpirun", "-np", "4", "--mca", "a", "b"], ["sh", "x"]),
        (["mpirun", "--new-option", "7", "sh"], ["mpirun", "--new-option", "7"], ["sh"]),
        (["srun", "-n", "2", "--gpus=2", "sh", "-c", "x"], ["srun", "-n", "2", "--gpus=2"], ["sh", "-c", "x"]),
        (["mpirun", "-np", "4"], [], ["mpirun", "-np", "4"]),
        (
            ["torchrun", "--no-python", "--nproc-per-node", "2", "./x", "-m"],
            ["torchrun", "--nproc-per-node", "2", "--no-python"],
            ["./x", "-m"],
        ),
        (
            ["python3", "-m", "torch.distributed.run", "--standalone", "-m", "a.b", "--x"],
            ["python3", "-m", "torch.distributed.run", "--standalone", "--no-python"],
            ["python3", "-m", "a.b", "--x"],
        ),
    ],
)
def test_a_launcher_is_told_from_its_program(words: list[str], launcher: list[str], program: list[str]) -> None:
    launched = launchers.split_launcher(words)
    assert (launched.launcher, launched.program) == (launcher, program)


def test_accelerate_starts_the_python_beside_it(python: str) -> None:
    words = ["accelerate", "launch", "--multi_gpu", "--num_processes", "2", "train.py", "--lr", "1"]
    launched = launchers.split_launcher(words)
    assert launched.launcher == [*words[:5], "--no_python"]
    assert launched.program == [python, "train.py", "--lr", "1"]


def test_ranks_are_those_of_the_launcher() -> None:
    step = {"SLURM_STEP_NUM_TASKS": "8", "SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0"}
    slurm = {"SLURM_PROCID": "3", "SLURM_LOCALID": "1", **step}
    assert read_rank(slurm) == Rank(3, 8, 1, "7-0")
    batch = {"SLURM_PROCID": "0", "SLURM_NTASKS": "8"}  # a batch script is no rank
    assert read_rank(batch) is None
    assert read_rank({"RANK": "0", "WORLD_SIZE": "1"}) is None
    mpi = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "PMIX_NAMESPACE": "../../x y"}
    assert read_rank(mpi) == Rank(1, 2, 1, "x-y")


TASK = {
    "SLURM_PROCID": "3",
    "SLURM_STEP_NUM_TASKS": "8",
    "SLURM_NTASKS": "8",
    "SLURM_JOB_ID": "7",
    "SLURM_STEP_ID": "0",
}


@pytest.mark.parametrize(
    "environment",
    [
        {"RANK": "1", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "TORCHELASTIC_RUN_ID": "job"},
        {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "PMIX_RANK": "1", "PMIX_NAMESPACE": "job"},
        {"PMI_RANK": "0", "PMI_SIZE": "4", "PMI_JOBID": "7"},
        TASK,
        {**TASK, "RANK": "9", "WORLD_SIZE": "16", "TORCHELASTIC_RUN_ID": "job"},
    ],
    ids=["torchrun", "Open MPI", "MPICH", "SLURM", "torchrun in a task of SLURM"],
)  # fmt: skip
def test_a_program_and_its_report_tell_the_same_rank(environment: dict[str, str]) -> None:
    """The recording and the import each have their own list of the launchers' variables."""
    stored = ";".join(f"{name}={value}" for name, value in environment.items())
    facts = dict(launch_environment.read_launch({"TARGET_INFO_SYSTEM_ENV": [("DeviceEnvironment", stored)]}))
    rank = read_rank(environment)
    assert rank is not None
    assert (facts["RUN_RANK"], facts["RUN_RANKS"]) == (str(rank.number), str(rank.size))


SECRET = "ghp_0123456789abcdefABCD"


def masked(tmp_path: Path, content: bytes, **variables: str) -> bytes:
    path = tmp_path / "report"
    path.write_bytes(content)
    masking.mask_file(path, {name: {value} for name, value in variables.items()}, holds_secret)
    assert path.stat().st_size == len(content)
    return path.read_bytes()


def test_values_go_in_every_form_that_nsys_writes(tmp_path: Path) -> None:
    forms = b'A_SETTING=hidden\0 A_SETTING="hidden" \n\x09A_SETTING\x12\x06hidden hidden'
    assert masked(tmp_path, forms, A_SETTING="hidden") == (
        b'A_SETTING=******\0 A_SETTING="******" \n\x09A_SETTING\x12\x06****** hidden'
    )


def test_secrets_go_wherever_they_stand_and_in_pieces(tmp_path: Path) -> None:
    content = b"printed " + SECRET.encode() + b", cut " + SECRET[3:17].encode() + b"\x01"
    left = masked(tmp_path, content, HF_TOKEN=SECRET)
    assert SECRET.encode() not in left
    assert b"456789ab" not in left
    assert left.startswith(b"printed ***")


def test_harmless_variables_and_other_texts_stay(tmp_path: Path) -> None:
    content = b"PATH=/usr/bin\0lr=0.1\0hidden\0/root/.cache/huggingface/models"
    values = {"PATH": "/usr/bin", "OTHER": "hidden", "HF_TOKEN_PATH": "/root/.cache/huggingface/token"}
    assert masked(tmp_path, content, **values) == content


def test_secrets_that_a_program_set_for_its_children_go_by_their_names(tmp_path: Path) -> None:
    content = b"X=1\0WANDB_API_KEY=abc def\0step=3\0\n\x09DB_SECRET\x12\x05value\n\x05steps\x12\x013"
    assert masked(tmp_path, content) == (
        b"X=1\0WANDB_API_KEY=*******\0step=3\0\n\x09DB_SECRET\x12\x05*****\n\x05steps\x12\x013"
    )


def test_values_across_two_blocks_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(masking, "BLOCK", 64)
    monkeypatch.setattr(masking, "OVERLAP", 48)
    for before in range(40, 70):
        assert SECRET.encode() not in masked(tmp_path, b"." * before + SECRET.encode() + b"." * 80, HF_TOKEN=SECRET)


def test_kernels_are_matched_by_their_exact_names() -> None:
    assert ncu.match_kernels([("gemm", "_Z4gemm"), ("a.b", "_Z1a")]) == {
        "--kernel-name-base": "mangled", "--kernel-name": "regex:^(_Z4gemm|_Z1a)$",
    }  # fmt: skip
    assert ncu.match_kernels([("gemm", None), ("gemm", "_Z4gemm"), ("a+b", None)]) == {
        "--kernel-name": "regex:^(gemm|a\\+b)$"
    }


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """A library of the sample with most kernels, as those of all samples import it."""
    folder = tmp_path_factory.mktemp("training")
    ingest_files(folder, [SAMPLES / f"transformer_training.{ending}" for ending in ("nsys-rep", "sqlite")])
    return Library(folder / "library")


@pytest.mark.integration
def test_pages_name_kernels_to_ncu_as_the_recording_does(training: Library) -> None:
    """SQL writes the command of a page, Python that of a recording."""
    (report,) = training.list()
    bases = set()
    for text in analysis.run(training, report.id, "kernel_verdicts")["command"]:
        words, _, program = text.partition(" -o report ")
        assert program == report.command
        tool, *given = shlex.split(words)
        assert tool == "ncu"
        options = dict(zip(given[::2], given[1::2], strict=True))
        name, base = options["--kernel-name"], options.get("--kernel-name-base")
        wanted = ncu.match_kernels([(name, name if base else None)])
        assert (base, options["--set"]) == (wanted.get("--kernel-name-base"), ncu.DEFAULTS["--set"])
        assert base is None or name.startswith("_Z")
        bases.add(base)
    assert bases == {None, "mangled"}


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (b"==ERROR== ERR_NVGPUCTRPERM - The user does not", "The driver lets only root read GPU counters"),
        (b"==WARNING== No kernels were profiled.", "ncu met none of these kernels"),
        (b"==ERROR== Nsight Compute failed to connect to the CUDA driver (stub", "There is no CUDA driver here."),
        (b"", "ncu wrote no report."),
    ],
)  # fmt: skip
def test_why_ncu_left_no_report(said: bytes, sentence: str) -> None:
    assert ncu.explain(said).startswith(sentence)


@pytest.mark.integration
def test_the_kernels_to_measure_make_most_of_the_time(training: Library) -> None:
    (report,) = training.list()
    rows = analysis.run(training, report.id, "kernels_to_measure", {"limit": 1000})
    every = analysis.run(training, report.id, "kernels", {})
    least = int((every["share_pct"].cumsum() < 80).sum()) + 1
    assert len(rows) == least
    assert list(rows["total_ns"]) == list(every["total_ns"][:least])
    assert list(rows["calls"]) == list(every["calls"][:least])
    assert (rows["rarest_calls"] * rows["shapes"] <= rows["calls"]).all()


@pytest.mark.parametrize(
    ("shapes", "kernels", "each"),
    [([1, 1], 2, 3), ([4] * 4, 4, 3), ([2] * 12, 12, 2), ([4] * 12, 12, 1), ([30, 20, 1], 1, 1), ([90, 1], 1, 1)],
)
def test_the_second_pass_is_bounded(shapes: list[int], kernels: int, each: int) -> None:
    rows: list[dict[Any, Any]] = [{"shapes": one} for one in shapes]
    assert deep.limit_launches(rows) == (rows[:kernels], each)


def test_the_second_pass_says_what_it_takes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "srun").symlink_to(shutil.which("sh") or "")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("WARPDECK_NCU", "off")
    with pytest.raises(Exception, match="There is no ncu here"):
        deep.choose(argparse.Namespace(steps=None, verbose=False), ["sh"])
    monkeypatch.delenv("WARPDECK_NCU")
    with pytest.raises(ConfigError, match="ncu repeats kernels, and ranks would wait"):
        deep.choose(argparse.Namespace(steps=None, verbose=False), ["srun", "-n", "2", "sh"])


@pytest.mark.nsight("ncu")
@pytest.mark.skipif(nvml.has_gpu(), reason="there is a GPU")
def test_ncu_without_a_gpu_is_a_sentence() -> None:
    with pytest.raises(ConfigError, match=r"ncu \d+\.\d+\.\d+ needs a GPU, and there is none here\."):
        deep.choose(argparse.Namespace(steps=None, verbose=False), ["sh"])


@pytest.mark.parametrize("gpu", [True, False])
def test_the_first_line_tells_the_cost_on_a_gpu(monkeypatch: pytest.MonkeyPatch, gpu: bool) -> None:
    pytest.importorskip("torch")
    monkeypatch.setattr(nvml, "has_gpu", lambda: gpu)
    asked = argparse.Namespace(tool="torch", steps=(2, 4), after=None, seconds=None, arg=[], verbose=False, name=None)
    (first,) = plan.choose(asked, [sys.executable, "train.py"]).sentences
    assert first.startswith("Recording with the PyTorch profiler, steps 2 to 3: operators with shapes")
    assert first.endswith(" steps of long ones no longer.") == gpu


FAKE_NSYS = """#!/bin/sh
trap 'echo "nsys was told"' INT
while [ "$1" != bash ] && [ "$1" != sh ]; do shift; done
echo "Generating"
"$@"
"""
PROGRAM = "trap 'echo interrupted; exit 5' INT; echo started; echo > {folder}/started; while :; do sleep 0.1; done"


@pytest.mark.integration
@pytest.mark.parametrize("further", [0, 12])
def test_ctrl_c_ends_the_program_and_its_output_stays_apart(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], further: int
) -> None:
    fake = tmp_path / "nsys"
    fake.write_text(FAKE_NSYS)
    fake.chmod(0o755)
    taken = [os.dup(0) for _ in range(further)]  # as the driver takes them
    recorded = Plan("nsys", str(tmp_path), str(fake))
    child = make_child(recorded, ["sh", "-c", PROGRAM.format(folder=tmp_path)], "report", terminal=False)
    for number in taken:
        os.close(number)

    def interrupt() -> None:
        wait_until((tmp_path / "started").exists, 30)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    ended = child.run()
    thread.join()
    assert (ended.status, ended.interrupted, ended.running) == (5, True, 0)
    assert capfd.readouterr().out == "started\ninterrupted\n"
    assert recorded.messages("report").read_text() == "Generating\n", (
        "nsys saves what it has once the program has ended"
    )


FAKE_NCU = """#!/bin/sh
[ "$1" = --version ] && echo "Version 2025.3.1.0 (build 1)" && exit
printf '%s\\n' "$@" > {folder}/asked
for _ in 1 2 3; do echo '==PROF== Profiling "k": 0%....100% - 41 passes'; done
cp {sample} "$2.ncu-rep"
while [ "$1" != sh ]; do shift; done
exec "$@"
"""


@pytest.mark.integration
def test_the_second_pass_measures_links_and_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fake = tmp_path / "ncu"
    fake.write_text(FAKE_NCU.format(folder=tmp_path, sample=SAMPLES / "attention.ncu-rep"))
    fake.chmod(0o755)
    monkeypatch.setenv("WARPDECK_NCU", str(fake))
    monkeypatch.setattr(nvml, "has_gpu", lambda: True)
    settings = config.load(library=tmp_path / "library", inbox=tmp_path / "inbox")
    sample = Path(shutil.copy(SAMPLES / "attention.sqlite", tmp_path))
    (report,) = answer.take_in([sample], settings, open_library(settings), None)
    chosen = deep.choose(argparse.Namespace(steps=None, verbose=False), ["sh", "-c", "exit 3"])
    assert deep.measure(report, chosen, settings, tmp_path, 2.0) == 3, "the program's own"
    asked = (tmp_path / "asked").read_text().splitlines()
    words = dict(pairwise(asked))
    assert (words["--set"], words["--clock-control"], words["--filter-mode"]) == ("full", "none", "per-launch-config")
    assert words["--kernel-name"].startswith("regex:^(_Z")
    library = open_library(settings)
    (linked,) = (one for one in library.list() if one.name == "attention_kernels.ncu-rep")
    assert library.linked_report(report.id) == linked.id
    said = capsys.readouterr().err
    assert "kernels (" in said
    assert re.search(r"of the kernel time\) with ncu 2025.3.1: at most \d+ launches, [\d.]+ s to [\d.]+ s\.", said)
    assert "attention_kernels.ncu-rep is linked to attention.sqlite, and covers" in said
    assert re.search(r"\d findings:\n  1\. ", said), "of what ncu measured"


@pytest.mark.parametrize("words", [["--open"], []])
def test_the_page_opens_where_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
    """Its last step alone: the recording and the import are those of other tests."""
    report, served = tmp_path / "a.nsys-rep", list[Path]()
    recording = MagicMock(run=lambda: 6, wait=lambda: 6, keep=lambda: [report])
    recording.__enter__.return_value = recording
    monkeypatch.setenv("WARPDECK_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(plan, "choose", lambda *_: MagicMock(sentences=[]))
    monkeypatch.setattr(session, "Session", lambda *_: recording)
    monkeypatch.setattr(answer, "answer", lambda *_, **__: ["a manifest"])
    monkeypatch.setattr(answer, "serve", lambda path, _: served.append(path))
    assert main.main(["profile", *words, "--", "true"]) == 6, "the program's own status"
    assert served == [report] * bool(words)


def test_other_children_outlive_a_job(tmp_path: Path) -> None:
    """The profiler's program is found among our child processes, except those that ran before."""
    with subprocess.Popen(["sleep", "60"]) as other:
        ended = Child(["true"], {}, terminal=False, status=tmp_path / "status").run()
        assert (ended.running, other.poll()) == (0, None)
        other.kill()


def test_an_agent_that_a_failed_nsys_leaves_is_ended(tmp_path: Path) -> None:
    """nsys starts an agent in its own session, which keeps our output open and waits forever if nsys fails."""
    agent = shutil.copy(shutil.which("sleep") or "", tmp_path / "nsys-agent")
    program = tmp_path / "nsys.sh"
    program.write_text(f"""setsid {shlex.quote(str(agent))} 600 & echo $! > {shlex.quote(str(tmp_path / "pid"))}
while [ "$(cat /proc/$!/comm)" != nsys-agent ]; do :; done
exit 1""")
    ended = Child(["sh", str(program)], dict(os.environ), terminal=False).run()
    assert (ended.status, ended.running) == (1, 0)
    _, told = os.waitpid(int((tmp_path / "pid").read_text()), 0)
    assert os.WTERMSIG(told) == signal.SIGKILL
