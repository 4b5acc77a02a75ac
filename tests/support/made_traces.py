"""Small traces by hand: events in microseconds, as the PyTorch profiler writes them, taken in by the real worker."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from profiledb.report.library import Library
from tests.conftest import ingest_files

PID, MAIN, AUTOGRAD = 100, 100, 101


def event(cat: str, name: str, start: float, end: float, tid: int = MAIN, **args: Any) -> dict[str, Any]:
    """A complete event, whose arguments may have names with underscores for spaces."""
    told = {key.replace("_", " "): value for key, value in args.items()}
    return {"ph": "X", "cat": cat, "name": name, "pid": PID, "tid": tid, "ts": start, "dur": end - start, "args": told}


def operator(name: str, start: float, end: float, tid: int = MAIN, **args: Any) -> dict[str, Any]:
    """An operator, with arguments such as ``Input_Dims``."""
    return event("cpu_op", name, start, end, tid, **args)


def launch(correlation: int, start: float, ran: tuple[float, float], tid: int = MAIN) -> list[dict[str, Any]]:
    """A launch of one microsecond and the kernel that it ran, from a time to another."""
    where = {"device": 0, "stream": 7, "correlation": correlation, "grid": [1, 1, 1], "block": [32, 1, 1]}
    return [
        event("cuda_runtime", "cudaLaunchKernel", start, start + 1, tid, correlation=correlation),
        event("kernel", "gemm", *ran, 7, **where) | {"pid": 0},
    ]


def python(name: str, number: int, parent: int | None, start: float, end: float, **args: Any) -> dict[str, Any]:
    """A call of a Python function."""
    return event("python_function", name, start, end, Python_id=number, Python_parent_id=parent, **args)


def taken_in(folder: Path, events: Sequence[dict[str, Any]], gpu: str = "NVIDIA H200") -> tuple[Library, str]:
    """A library of a trace of these events, and the id of its report."""
    properties = [{"id": 0, "name": gpu, "computeMajor": 9, "computeMinor": 0, "numSms": 132}]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "made.pt.trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": properties, "traceEvents": list(events)}))
    ingest_files(folder / "data", [path])
    library = Library(folder / "data" / "library")
    return library, library.list()[0].id
