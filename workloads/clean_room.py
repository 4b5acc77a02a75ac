"""Run programs in an environment without secrets, because reports store it.

nsys writes environment variables into its report: those of the program it starts, and those of every other process that
it can see. So the program gets a few variables and, if root can create them, namespaces without other processes and the
real host name.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Mapping, Sequence

ALWAYS = ("PATH", "HOME", "LANG")
WHERE_SET = (
    "CUDA_VISIBLE_DEVICES",
    "LD_LIBRARY_PATH",
    "PYTHONPATH",
    "NCCL_NVLS_ENABLE",  # machines that disable NVLink multicast keep it off
    "NVSHMEM_DISABLE_NVLS",
    "TORCH_SYMM_MEM_DISABLE_MULTICAST",
)
DEFAULTS = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8"}  # noqa: S108 - as env -i has none
HOSTNAME = "gpu-node"
NAMESPACES = ("unshare", "--fork", "--pid", "--mount-proc", "--uts")


def make_clean_environment(
    values: Mapping[str, str], further: Sequence[str] = (), environment: Mapping[str, str] = os.environ
) -> list[str]:
    """Return `env -i A=... B=...`: the variables above, those named in `further`, and `values`."""
    variables = {name: environment.get(name, DEFAULTS[name]) for name in ALWAYS}
    variables |= {name: environment[name] for name in (*WHERE_SET, *further) if name in environment}
    return ["env", "-i", *(f"{name}={value}" for name, value in {**variables, **values}.items())]


def make_namespace_command() -> list[str]:
    """Return the words that put a command into its own namespaces; none if that is not allowed, or done already.

    Nested namespaces would give every nsys the same process number, and it names its sockets after that.
    """
    if os.geteuid() != 0 or not shutil.which("unshare") or platform.node() == HOSTNAME:
        return []
    if subprocess.run([*NAMESPACES, "true"], capture_output=True, check=False).returncode != 0:
        return []
    # The shell stays as the first process of its namespace until the tool's own helpers have ended.
    return [*NAMESPACES, "sh", "-c", f'hostname {HOSTNAME}; "$@"; exit $?', "profile"]
