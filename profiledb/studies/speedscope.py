"""CPU samples as a file for speedscope: one profile per thread, one sample per call chain.

The format is that of https://www.speedscope.app/file-format-schema.json (its repository: jlfwong/speedscope,
src/lib/file-format-spec.ts). Each sample weighs one: nsys samples at a steady rate where possible, so that shares of
samples are shares of a thread's running time.
"""

import json
from collections.abc import Mapping
from typing import Any

from profiledb.library.library import Library
from profiledb.query import analysis

SCHEMA = "https://www.speedscope.app/file-format-schema.json"

Frame = tuple[str, str | None]
"""A function and its file."""


def format_document(library: Library, report_id: str, params: Mapping[str, Any]) -> str:
    """Return the file of ``document`` as JSON."""
    return json.dumps(make_document(library, report_id, params), ensure_ascii=False, separators=(",", ":"))


def make_document(library: Library, report_id: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the CPU samples of a report, restricted by the parameters of ``cpu_frames`` and of a selection.

    Raises:
        NotCapturedError: the report has no samples.
        AnalysisError: ``cpu_frames`` has no such parameter.
        ReportNotFoundError: the report does not exist.
    """
    rows = analysis.run(library, report_id, "cpu_frames", params)
    threads: dict[str, dict[int, list[Frame]]] = {}
    for number, thread, function, module in zip(
        rows["number"], rows["thread"], rows["function"], rows["module"], strict=True
    ):
        file = module if isinstance(module, str) and module else None
        threads.setdefault(str(thread), {}).setdefault(int(number), []).append((str(function), file))
    frames: dict[Frame, int] = {}
    profiles = [_make_profile(thread, list(chains.values()), frames) for thread, chains in threads.items()]
    profiles.sort(key=lambda profile: (-profile["endValue"], profile["name"]))
    return {
        "$schema": SCHEMA,
        "name": library.find(report_id).name,
        "exporter": "warpdeck",
        "activeProfileIndex": 0,
        "shared": {"frames": [{"name": name} | ({"file": file} if file else {}) for name, file in frames]},
        "profiles": profiles,
    }


def _make_profile(thread: str, chains: list[list[Frame]], frames: dict[Frame, int]) -> dict[str, Any]:
    """Return a sampled profile; new functions are added to ``frames``, which numbers them."""
    return {
        "type": "sampled",
        "name": thread,
        "unit": "none",
        "startValue": 0,
        "endValue": len(chains),
        "samples": [[frames.setdefault(frame, len(frames)) for frame in chain] for chain in chains],
        "weights": [1] * len(chains),
    }
