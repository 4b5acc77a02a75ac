"""Programs with a fault: both halves run on the CPU, those of several ranks in two processes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("nvtx")

from tests.conftest import ROOT

TORCHRUN = [
    sys.executable, "-m", "torch.distributed.run", "--standalone", "--local-addr", "127.0.0.1", "--nproc-per-node", "2",
]  # fmt: skip
EVERY = """
import json, os, sys
sys.path.insert(0, {root!r})
from contextlib import nullcontext
from bench.fault_programs import ranks
from bench.fault_programs.__main__ import GROUPS_OF_RANKS, load
from bench.fault_programs.loop import PROGRAMS, Loop, wait
several, groups = "RANK" in os.environ, load()
names = {names!r} or [name for name, group in groups.items() if group in GROUPS_OF_RANKS]
with ranks.join_group() if several else nullcontext():
    ran = []
    for name in names:
        for mended in (False, True):
            loop = Loop(2, 1, barrier=ranks.meet if several else wait)
            PROGRAMS[name](loop, mended)
            ran.append([name, mended, loop.number, loop.ns > 0])
if os.environ.get("RANK", "0") == "0":
    print(json.dumps(ran), flush=True)
"""
ALONE = (
    "speech_decoder.decoding_without_graph", "chat.decoding_one_by_one", "experts.optimizer_per_parameter",
    "timed_modules.many_synchronizations", "offloaded.optimizer_on_cpu", "dumped_features.checkpoint_in_the_loop",
    "click_features.few_cores", "clip_by_hand.many_synchronizations", "particles.decoding_without_graph",
    "edit_distance.python_between_launches", "surrogate.double_precision", "one_loader.input_made_between_steps",
    "cross_attention.attention_by_hand", "moving_average.optimizer_per_parameter",
)  # fmt: skip


def run_all(command: list[str], names: tuple[str, ...], folder: Path) -> list[list[object]]:
    """Run both halves of the programs in one process (those of ranks in two) and return their output."""
    driver = folder / "every.py"
    driver.write_text(EVERY.format(root=str(ROOT), names=names))
    done = subprocess.run([*command, str(driver)], capture_output=True, text=True, timeout=240, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr[-2000:]
    return list(json.loads(next(line for line in done.stdout.splitlines() if line.startswith("[["))))


def test_a_program_runs_on_the_cpu() -> None:
    from bench.fault_programs.__main__ import load
    from bench.fault_programs.loop import PROGRAMS, Loop

    load()
    for mended in (False, True):
        loop = Loop(2, 1)
        PROGRAMS[ALONE[-1]](loop, mended)
        assert (loop.number, loop.ns > 0) == (3, True)


@pytest.mark.integration
@pytest.mark.slow("14 programs, 88 CPU seconds")
def test_programs_that_need_torch_alone_run_on_the_cpu(tmp_path: Path) -> None:
    told = run_all([sys.executable], ALONE, tmp_path)
    assert told == [[name, mended, 3, True] for name in ALONE for mended in (False, True)]


@pytest.mark.slow("a launcher and two processes, as for the workloads of ranks")
@pytest.mark.integration
def test_programs_of_ranks_run_on_two_ranks(tmp_path: Path) -> None:
    from bench.fault_programs.__main__ import GROUPS_OF_RANKS, load

    names = [name for name, group in load().items() if group in GROUPS_OF_RANKS]
    assert len(names) >= 6
    assert run_all(TORCHRUN, (), tmp_path) == [[name, mended, 3, True] for name in names for mended in (False, True)]


def test_each_program_says_its_fault() -> None:
    from bench.fault_programs.__main__ import load
    from bench.fault_programs.loop import PROGRAMS
    from bench.faults import FAULTS

    assert len(load()) >= 20
    assert all(run.__doc__ and name.partition(".")[2] in FAULTS for name, run in PROGRAMS.items())
