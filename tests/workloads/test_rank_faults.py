"""Programs for several GPUs with one fault each: both halves run, on two ranks on the CPU."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.conftest import ROOT

TORCHRUN = [
    sys.executable, "-m", "torch.distributed.run", "--standalone", "--local-addr", "127.0.0.1", "--nproc-per-node", "2",
]  # fmt: skip
EVERY = """
import json, sys
sys.path.insert(0, {root!r})
import torch.distributed as dist
from workloads import rank_faults
dist.init_process_group("gloo")
halves = [(name, mended) for name in rank_faults.FAULTS for mended in (False, True)]
ran = [(name, mended, rank_faults.run(name, 1, mended=mended) > 0) for name, mended in halves]
if dist.get_rank() == 0:
    print(json.dumps(ran), flush=True)
dist.destroy_process_group()
"""


@pytest.mark.slow("a launcher and two ranks")
@pytest.mark.integration
def test_both_halves_of_every_fault_run_on_two_ranks(tmp_path: Path) -> None:
    from workloads.rank_faults import FAULTS

    driver = tmp_path / "every.py"
    driver.write_text(EVERY.format(root=str(ROOT)))
    done = subprocess.run([*TORCHRUN, str(driver)], capture_output=True, text=True, timeout=240, check=False, cwd=ROOT)
    lines = [line for line in done.stdout.splitlines() if line.startswith("[[")]
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(lines[-1]) == [[name, mended, True] for name in FAULTS for mended in (False, True)]


@pytest.mark.integration
def test_both_halves_of_a_fault_run_on_one_rank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch.distributed as dist

    from workloads import rank_faults

    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
    dist.init_process_group("gloo", init_method=f"file://{tmp_path / 'store'}", rank=0, world_size=1)
    try:
        assert all(rank_faults.run("late_rank", 1, mended=mended) > 0 for mended in (False, True))
    finally:
        dist.destroy_process_group()


def test_the_list_says_what_each_fault_is() -> None:
    from workloads.rank_faults import FAULTS, main

    assert main(["--list"]) == 0
    assert all(build.__doc__ for build in FAULTS.values())
