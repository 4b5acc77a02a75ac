"""Tell launchers of ranks (torchrun, accelerate, mpirun, srun) from the program that each rank runs."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

TORCHRUN_FLAGS = frozenset(
    ("--standalone", "--no-python", "-m", "--module", "--run-path", "--no_python", "--run_path", "-h", "--help",
     "--enable-dynamic-partition", "--signals-to-handle")
)  # fmt: skip
"""Options of torchrun without a value."""
ACCELERATE_FLAGS = frozenset(
    ("-m", "--module", "--no_python", "--no-python", "--multi_gpu", "--multi-gpu", "--cpu", "--tpu", "--use_mps_device",
     "--quiet", "-q", "--debug", "--use_deepspeed", "--use_fsdp", "--use_megatron_lm", "--use_xpu",
     "--dynamo_use_dynamic", "--dynamo_use_fullgraph", "--same_network", "--standalone", "--enable_cpu_affinity",
     "--tpu_use_cluster")
)  # fmt: skip
"""Options of accelerate without a value; all others take one."""
MPI_VALUES = {
    **dict.fromkeys(
        ("-n", "-np", "--np", "-c", "-N", "-H", "-host", "--host", "-hosts", "-hostfile", "--hostfile", "-machinefile",
         "--machinefile", "-f", "-ppn", "--ppn", "-npernode", "--npernode", "--map-by", "-map-by", "--bind-to",
         "-bind-to", "--rank-by", "-x", "-wdir", "--wdir", "-wd", "-envlist", "-genvlist", "-iface", "-bootstrap",
         "-launcher", "--prefix", "--output", "--oversubscribe-by", "--report-state", "--timeout", "--personality",
         "--stdin"), 1),
    **dict.fromkeys(("--mca", "-mca", "--gmca", "-gmca", "--prtemca", "--pmixmca", "-env", "-genv"), 2),
}  # fmt: skip
"""Number of words after an option of mpirun; none after others."""
SRUN_VALUES = dict.fromkeys(
    ("-n", "-N", "-c", "-G", "-p", "-A", "-t", "-J", "-w", "-x", "-o", "-e", "-i", "-D", "-C", "-q", "-d", "-m", "-r",
     "-L", "-K", "--ntasks", "--nodes", "--cpus-per-task", "--gpus", "--gpus-per-node", "--gpus-per-task",
     "--ntasks-per-node", "--partition", "--account", "--time", "--job-name", "--nodelist", "--exclude", "--output",
     "--error", "--input", "--chdir", "--constraint", "--qos", "--gres", "--mem", "--mpi", "--container-image",
     "--container-mounts", "--distribution", "--jobid", "--export", "--cpu-bind", "--reservation", "--network"), 1
)  # fmt: skip


@dataclass(frozen=True)
class Launched:
    """A command line in two parts.

    Args:
        launcher: the launcher with its options, which then starts any program; empty if there is none.
        program: the command line of each rank.
        is_mpi: whether ranks talk by MPI.
    """

    launcher: list[str]
    program: list[str]
    is_mpi: bool = False


def split_launcher(words: Sequence[str]) -> Launched:
    """Split a command line into launcher and program; without a launcher, all of it is the program."""
    name = Path(words[0]).name
    if name == "torchrun":
        return _split_python(words, 1, TORCHRUN_FLAGS, "--no-python", python_beside(words[0]))
    if name.startswith("python") and tuple(words[1:3]) in _TORCH_MODULES:
        return _split_python(words, 3, TORCHRUN_FLAGS, "--no-python", words[0])
    if name == "accelerate" and tuple(words[1:2]) == ("launch",):
        return _split_python(words, 2, ACCELERATE_FLAGS, "--no_python", python_beside(words[0]))
    if name in ("mpirun", "mpiexec", "orterun", "prterun", "mpiexec.hydra"):
        return _split_at_program(words, MPI_VALUES, is_mpi=True)
    if name == "srun":
        return _split_at_program(words, SRUN_VALUES, is_mpi=False)
    return Launched([], list(words))


_TORCH_MODULES = (("-m", "torch.distributed.run"), ("-m", "torch.distributed.launch"))


def _split_python(words: Sequence[str], start: int, flags: frozenset[str], no_python: str, python: str) -> Launched:
    """Split after the options of a launcher of Python programs; it then starts ``python`` itself."""
    position, is_module, is_program = start, False, False
    while position < len(words) and words[position].startswith("-"):
        word = words[position]
        is_module |= word in ("-m", "--module")
        is_program |= word in ("--no-python", "--no_python")
        position += 1 if "=" in word or word in flags else 2
    options = [word for word in words[start:position] if word not in ("-m", "--module", "--no-python", "--no_python")]
    program = list(words[position:])
    if not program:
        return Launched([], list(words))
    if not is_program:
        program = [python, *(["-m"] if is_module else []), *program]
    return Launched([*words[:start], *options, no_python], program)


def _split_at_program(words: Sequence[str], values: dict[str, int], *, is_mpi: bool) -> Launched:
    position = 1
    while position < len(words) and words[position].startswith("-"):
        word = words[position]
        position += 1 if "=" in word else 1 + values.get(word, 0)
    while position < len(words) and not _is_program(words[position]):
        position += 1  # the value of an option that is not in our list
    if position >= len(words):
        return Launched([], list(words))
    return Launched(list(words[:position]), list(words[position:]), is_mpi)


def _is_program(word: str) -> bool:
    return shutil.which(word) is not None


def python_beside(launcher: str) -> str:
    """Return the Python of a script's environment: the one beside it, else the one on PATH."""
    path = shutil.which(launcher)
    beside = Path(path).parent / "python" if path else None
    return str(beside) if beside and os.access(beside, os.X_OK) else shutil.which("python3") or sys.executable
