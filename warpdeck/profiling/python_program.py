"""Let a program's own Python open the window of steps, or trace itself with the PyTorch profiler."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

VARIABLE = "WARPDECK_CAPTURE"
_FOLDER = Path(__file__).parent / "inject"
_ANSWER_S = 60.0
_HAS_TORCH = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"


def find_python(program: Sequence[str]) -> str | None:
    """Return the Python that runs a program, None if it is no Python program."""
    name = Path(program[0]).name
    if name.startswith("python"):
        return shutil.which(program[0])
    path = shutil.which(program[0])
    if path is None:
        return None
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - reads two bytes of what may be anything
            line = file.read(512).split(b"\n", 1)[0].decode(errors="replace")
    except OSError:
        return None
    if not line.startswith("#!") or "python" not in line:
        return None
    words = line[2:].split()
    return shutil.which(words[-1] if Path(words[0]).name == "env" else words[0])


def has_torch(python: str) -> bool:
    """Return True if a Python can import torch."""
    try:
        done = subprocess.run([python, "-c", _HAS_TORCH], capture_output=True, check=False, timeout=_ANSWER_S)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def inject(environment: Mapping[str, str], asked: Mapping[str, Any]) -> dict[str, str]:
    """Return an environment in which the program's Python runs ``inject/sitecustomize.py``."""
    path = os.pathsep.join(filter(None, (str(_FOLDER), environment.get("PYTHONPATH"))))
    return {**environment, VARIABLE: json.dumps(asked), "PYTHONPATH": path}
