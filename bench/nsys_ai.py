"""Compare with nsys-ai on the captures of ``bench.conclusions``, for the column beside ours.

nsys-ai (0.3.0, PyPI) lists findings in its own order; none of them belongs to one fault, so a fault counts as named by
the first finding whose label or note has a word for it. General advice ("check for explicit synchronize calls") does
not count, because it follows every idle GPU.
"""

import json
import re
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

TIMEOUT_S = 300


def find_place(program: str, export: Path, words: str) -> int | None:
    """Return the place, from 1, of nsys-ai's first finding that names the fault; None without one.

    Args:
        program: path of the command ``nsys-ai``.
        export: a SQLite export of nsys. nsys-ai writes its caches beside it, so it gets a copy.
        words: pattern of words that name the fault.

    Raises:
        subprocess.SubprocessError: nsys-ai failed or took too long.
    """
    with TemporaryDirectory(prefix="nsys-ai-") as folder:
        copy = shutil.copy(export, folder)
        done = subprocess.run(
            [program, "diagnose", copy, "--format", "json"],
            cwd=folder, check=True, capture_output=True, text=True, timeout=TIMEOUT_S,
        )  # fmt: skip
    texts = (f"{one.get('label', '')} {one.get('note', '')}" for one in json.loads(done.stdout)["findings"])
    return next((at for at, text in enumerate(texts, 1) if re.search(words, text, re.IGNORECASE)), None)
