"""CPU samples as a file for speedscope: a profile a thread, a sample a call chain.

The format is that of https://www.speedscope.app/file-format-schema.json (its repository: jlfwong/speedscope,
src/lib/file-format-spec.ts). Each sample weighs one: nsys samples at a steady rate where it can, so that shares of
samples are shares of the time that a thread ran.
"""

import json
from collections.abc import Mapping
from typing import Any

from profiledb.library.library import Library
from profiledb.query import analysis

SCHEMA = "https://www.speedscope.app/file-format-schema.json"

Frame = tuple[str, str | None]
"""A function and the file that holds it."""


def text(library: Library, report_id: str, params: Mapping[str, Any]) -> str:
    """The file of ``document``, as JSON."""
    return json.dumps(document(library, report_id, params), ensure_ascii=False, separators=(",", ":"))


def document(library: Library, report_id: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """The CPU samples of a report, or of what the parameters of ``cpu_frames`` and of a selection leave of them.

    Raises:
        NotCapturedError: the report has none.
        AnalysisError: a parameter that ``cpu_frames`` does not take.
        ReportNotFoundError: there is no such report.
    """
    rows = analysis.run(library, report_id, "cpu_frames", params)
    threads: dict[str, dict[int, list[Frame]]] = {}
    for number, thread, function, module in zip(
        rows["number"], rows["thread"], rows["function"], rows["module"], strict=True
    ):
        file = module if isinstance(module, str) and module else None
        threads.setdefault(str(thread), {}).setdefault(int(number), []).append((str(function), file))
    frames: dict[Frame, int] = {}
    profiles = [_profile(thread, list(chains.values()), frames) for thread, chains in threads.items()]
    profiles.sort(key=lambda profile: (-profile["endValue"], profile["name"]))
    return {
        "$schema": SCHEMA,
        "name": library.find(report_id).name,
        "exporter": "warpdeck",
        "activeProfileIndex": 0,
        "shared": {"frames": [{"name": name} | ({"file": file} if file else {}) for name, file in frames]},
        "profiles": profiles,
    }


def _profile(thread: str, chains: list[list[Frame]], frames: dict[Frame, int]) -> dict[str, Any]:
    """A sampled profile; ``frames`` has the number of each function, and takes new ones."""
    return {
        "type": "sampled",
        "name": thread,
        "unit": "none",
        "startValue": 0,
        "endValue": len(chains),
        "samples": [[frames.setdefault(frame, len(frames)) for frame in chain] for chain in chains],
        "weights": [1] * len(chains),
    }
