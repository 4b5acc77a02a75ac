"""Names of captures that overwrite nothing."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from warpdeck.profiling.errors import ProfilingError

REPORTS = (".nsys-rep", ".qdstrm", ".pt.trace.json.gz", ".ncu-rep")
"""Endings of what profilers leave; nsys leaves a .qdstrm where its importer is missing."""
OUTPUTS = (*REPORTS, ".sqlite", ".meta.json", ".nvml.csv", ".timings.csv", ".tasks.csv")
"""Endings of files that a capture leaves."""
_MOST = 10_000


def claim_name(folder: Path, name: str, ending: str = "", ranks: Sequence[int] = ()) -> str:
    """Return a name of which the folder holds no files yet: NAME, NAME-2, ...; claim it by its NAME.meta.json.

    Args:
        folder: folder of the files.
        name: name that is wanted.
        ending: end of the name, after the number.
        ranks: ranks that have files of their own, NAME_rank0, NAME_rank1, ...

    Raises:
        ProfilingError: all numbers are taken.
        OSError: the folder cannot be written.
    """
    for number in range(1, _MOST):
        stem = f"{name if number == 1 else f'{name}-{number}'}{ending}"
        if _is_taken(folder, stem):
            continue
        try:
            for each in [f"{stem}_rank{rank}" for rank in ranks] or [stem]:
                os.close(os.open(folder / f"{each}.meta.json", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
        except FileExistsError:
            continue
        return stem
    raise ProfilingError(f"{folder} has too many files called {name}: choose another --name.")


def _is_taken(folder: Path, stem: str) -> bool:
    """Return True if there are files of an earlier capture of this name, or of ranks of it."""
    ends = [path.name.removeprefix(stem) for path in folder.iterdir() if path.name.startswith(stem)]
    own = re.compile(rf"(?:_rank\d+)?(?:{'|'.join(map(re.escape, OUTPUTS))})")
    return any(own.fullmatch(end) for end in ends)
