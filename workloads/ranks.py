"""Put a profiler inside torchrun, so that each rank gets its own report."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from .errors import WorkloadError

LAUNCHERS = ("torchrun", "torch.distributed.run", "torch.distributed.launch")
LOCAL = ["--local-addr", "127.0.0.1"]


def launcher_words(program: Sequence[str]) -> int:
    """Return how many words of `program` start torchrun; 0 if it does not."""
    if program and program[0].rsplit("/", 1)[-1] == "torchrun":
        return 1
    if len(program) > 2 and program[1] == "-m" and program[2] in LAUNCHERS:
        return 3
    return 0


def split_torchrun(program: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return torchrun with its options, set to start programs, and the program of each rank.

    If `program` is not torchrun, the first is empty and the second is `program`.
    """
    words = launcher_words(program)
    if not words:
        return [], list(program)
    try:
        from torch.distributed.run import get_args_parser
    except ImportError as error:
        raise WorkloadError("torchrun needs torch, which is not installed: pip install '.[workloads]'") from error
    chosen = get_args_parser().parse_args(list(program[words:]))
    count = 1 + len(chosen.training_script_args)
    rank_program = list(program[-count:])
    options = [word for word in program[words:-count] if word not in ("--no-python", "--no_python", "-m", "--module")]
    if chosen.module:
        rank_program = [sys.executable, "-m", *rank_program]
    elif not chosen.no_python:
        rank_program = [sys.executable, *rank_program]
    if chosen.standalone and chosen.local_addr is None:
        options += LOCAL  # else the ranks would look for this machine by a name that the clean room hides
    return [*program[:words], *options, "--no-python"], rank_program


def torchrun(ranks: int) -> list[str]:
    """Return torchrun for `ranks` processes on this machine, which need not know its own name."""
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", *LOCAL]
    return [*launcher, "--nproc-per-node", str(ranks), "--no-python"]
