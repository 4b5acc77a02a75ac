"""Send a file by a process of its own: a program that is recorded need not find the packages that sending needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_PUSH = "import sys; sys.path.append(sys.argv.pop(1)); from warpdeck.__main__ import main; sys.exit(main())"


def push_file(path: Path) -> tuple[bool, str]:
    """Run ``warpdeck push`` for a file; return whether the server has it, and the last line of the command."""
    done = subprocess.run(
        [sys.executable, "-c", _PUSH, str(Path(__file__).resolve().parents[2]), "push", str(path)],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False,
    )  # fmt: skip
    lines = (done.stderr if done.returncode else done.stdout).strip().splitlines()
    return done.returncode == 0, lines[-1] if lines else f"exit status {done.returncode}"
