"""Put a profiler inside torchrun, so that each rank gets its own report."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from warpdeck.profiling.launchers import split_launcher

LOCAL = ["--local-addr", "127.0.0.1"]


def split_torchrun(program: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return torchrun with its options, set to start programs, and the program of each rank.

    If `program` is not torchrun, the first is empty and the second is `program`.
    """
    launched = split_launcher(program)
    launcher = list(launched.launcher)
    if launcher[-1:] != ["--no-python"]:
        return [], list(program)
    if "--standalone" in launcher and not any(word.startswith(LOCAL[0]) for word in launcher):
        launcher[-1:-1] = LOCAL  # else the ranks would look for this machine by a name that the clean room hides
    return launcher, launched.program


def make_torchrun_command(ranks: int) -> list[str]:
    """Return torchrun for `ranks` processes on this machine, which need not know its own name."""
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", *LOCAL]
    return [*launcher, "--nproc-per-node", str(ranks), "--no-python"]
