"""Which rank of a run this process is, as its launcher says in the environment."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Rank:
    """A rank of a run.

    Args:
        number: from 0.
        size: number of ranks.
        local: number on this machine, from 0.
        run: identity of the run, the same in all of its ranks; fit for a file name.
    """

    number: int
    size: int
    local: int
    run: str


_SOURCES = (
    ("RANK", "WORLD_SIZE", "LOCAL_RANK", ("TORCHELASTIC_RUN_ID", "MASTER_PORT")),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", ("PMIX_NAMESPACE",)),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", ("SLURM_JOB_ID", "SLURM_STEP_ID")),
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", ("PMI_JOBID",)),
)
"""Variables of rank, number of ranks, rank on the machine, and of the run: torchrun, Open MPI, SLURM, MPICH."""


def read_rank(environment: Mapping[str, str] = os.environ) -> Rank | None:
    """Return the rank that a launcher gave this process; None outside a run of several ranks."""
    for number, size, local, run in _SOURCES:
        values = [environment.get(name, "") for name in (number, size, local)]
        if not (values[0].isdecimal() and values[1].isdecimal() and int(values[1]) > 1):
            continue
        run_id = "-".join(environment[name] for name in run if environment.get(name))
        name = re.sub(r"[^A-Za-z0-9]+", "-", run_id).strip("-")[:60]
        return Rank(
            int(values[0]), int(values[1]), int(values[2]) if values[2].isdecimal() else int(values[0]),
            name or f"run-{os.getppid()}",
        )  # fmt: skip
    return None
