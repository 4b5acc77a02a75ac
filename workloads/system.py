"""Describe the environment of a run: the code's revision, the GPUs, and versions of software."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from warpdeck.profiling import nvml

PACKAGES = ("torch", "triton", "cupy-cuda13x", "cupy-cuda12x", "numba", "numpy", "nvtx", "nvidia-ml-py")


def describe_system() -> dict[str, object]:
    """Return git revision, GPUs, CPU, and versions of Python, packages, CUDA and driver; None if unknown."""
    return {
        "git_revision": read_git_revision(),
        "gpus": nvml.describe_gpus(),
        "cpu_name": read_cpu_name(),
        "versions": list_versions(),
    }


def read_cpu_name() -> str:
    """Return the name of the processor on Linux; an empty name elsewhere."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name")), "")


def read_git_revision() -> str | None:
    """Return the commit of this package, with `-dirty` if files differ; None outside a checkout."""
    git = shutil.which("git")
    if not git:
        return None
    folder = Path(__file__).parent
    command = [git, "-C", str(folder), "-c", f"safe.directory={folder.parent}"]
    command += ["describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or None


def list_versions() -> dict[str, str]:
    """Return the versions of Python, of the installed PACKAGES, of CUDA in PyTorch, and of the driver."""
    result = {"python": platform.python_version(), "platform": platform.platform(terse=True)}
    for package in PACKAGES:
        try:
            result[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    torch = sys.modules.get("torch")
    if torch and torch.version.cuda:
        result["cuda"] = torch.version.cuda
    driver = nvml.read_driver_version()
    return {**result, "driver": driver} if driver else result
