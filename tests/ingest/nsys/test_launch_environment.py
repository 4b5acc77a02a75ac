"""The rank of a report comes from its launcher's environment, of which nothing else is stored."""

import pytest

from ingest.nsys.launch_environment import read_launch

TORCHRUN = "RANK=3;WORLD_SIZE=8;TORCHELASTIC_RUN_ID=job;TORCHELASTIC_RESTART_COUNT=1;MASTER_ADDR=10.0.0.1;TOKEN=hunter2"


def machine(environment: str, *more: tuple[str, str]) -> dict[str, list[tuple[str, str | None]]]:
    return {"TARGET_INFO_SYSTEM_ENV": [("DeviceEnvironment", environment), ("Hostname", "node7"), *more]}


def test_torchrun_tells_rank_size_run_and_restarts() -> None:
    facts = dict(read_launch(machine(TORCHRUN)))
    assert facts.keys() == {"RUN_RANK", "RUN_RANKS", "RUN_ID", "RUN_RESTARTS", "RUN_HOST"}
    assert (facts["RUN_RANK"], facts["RUN_RANKS"], facts["RUN_RESTARTS"], facts["RUN_HOST"]) == ("3", "8", "1", "node7")
    assert len(facts["RUN_ID"]) == 16
    assert "job" not in facts["RUN_ID"]
    assert "hunter2" not in str(facts)


@pytest.mark.parametrize(
    ("environment", "rank", "size"),
    [
        ("SLURM_PROCID=5\nSLURM_STEP_NUM_TASKS=16\nSLURM_JOB_ID=77\nSLURM_STEP_ID=0", "5", "16"),
        ("OMPI_COMM_WORLD_RANK=1\0OMPI_COMM_WORLD_SIZE=2\0", "1", "2"),
        ("PMI_RANK=0;PMI_SIZE=4", "0", "4"),
        ("SLURM_PROCID=1;SLURM_STEP_NUM_TASKS=2;RANK=9;WORLD_SIZE=16", "9", "16"),  # torchrun inside a task of SLURM
    ],
)
def test_every_launcher_tells_the_rank(environment: str, rank: str, size: str) -> None:
    facts = dict(read_launch(machine(environment)))
    assert (facts["RUN_RANK"], facts["RUN_RANKS"]) == (rank, size)


def test_ranks_of_one_run_share_its_identity_and_other_runs_do_not() -> None:
    one, same, other = (
        dict(read_launch(machine(f"RANK={rank};TORCHELASTIC_RUN_ID={run}")))["RUN_ID"]
        for rank, run in ((0, "a"), (1, "a"), (0, "b"))
    )
    assert one == same != other
    assert "RUN_ID" not in dict(read_launch(machine("RANK=0;TORCHELASTIC_RUN_ID=none"))), "torchrun's default"


@pytest.mark.parametrize("value", ["", "-1", "3x", "1234567", "hunter2", "\u0663"])
def test_a_rank_that_is_no_whole_number_tells_nothing(value: str) -> None:
    assert read_launch(machine(f"RANK={value};WORLD_SIZE=2")) == []


def test_processes_that_disagree_tell_nothing() -> None:
    def ranks(*ranks: int) -> dict[str, list[tuple[str, str | None]]]:
        return {
            "META_DATA_CAPTURE": [(f"PROCESS_{n}:ENVIRONMENT_VARIABLE", f'RANK="{r}"') for n, r in enumerate(ranks)]
        }

    assert read_launch(ranks(0, 1)) == []
    assert read_launch(ranks(2, 2)) == [("RUN_RANK", "2")]


def test_a_batch_script_of_slurm_is_no_rank() -> None:
    assert read_launch(machine("SLURM_PROCID=0;SLURM_NTASKS=16;SLURM_JOB_ID=77")) == []
