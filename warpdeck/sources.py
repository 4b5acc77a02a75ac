"""Files that a command line names: each once, with the files that belong to it. Needs neither database nor profiler."""

import os
from collections.abc import Sequence
from pathlib import Path

from profiledb.report import sidecar
from profiledb.report.file_names import NSYS_ENDINGS, NSYS_EXPORT


def list_sources(paths: Sequence[Path]) -> list[Path]:
    """Return the files to copy, each once; companions of another file come with that file."""
    unique: dict[str, Path] = {}
    for path in paths:
        unique.setdefault(os.path.realpath(path), path)
    companions = {os.path.realpath(one) for path in unique.values() for one in list_companions(path)}
    return [path for real, path in unique.items() if real not in companions]


def list_companions(path: Path) -> list[Path]:
    """Return the files that belong to a report: an export of the same capture, and sidecars."""
    if not os.path.isfile(path) or path.name.lower().endswith(sidecar.DROPPED):  # noqa: PTH113
        return []
    endings = [*sidecar.DROPPED, ".csv", *([NSYS_EXPORT] if path.suffix in NSYS_ENDINGS else [])]
    candidates = [path.with_name(sidecar.get_stem(path.name) + ending) for ending in endings]
    return [one for one in candidates if one != path and os.path.isfile(one)]  # noqa: PTH113 - False for a name that is too long
