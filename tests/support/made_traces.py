"""Small hand-made traces in the format of the PyTorch profiler (times in µs), imported by the real worker."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from profiledb.library.library import Library
from tests.conftest import ingest_files

PID, MAIN, AUTOGRAD = 100, 100, 101


def event(cat: str, name: str, start: float, end: float, tid: int = MAIN, **args: Any) -> dict[str, Any]:
    """Return a complete event. Underscores in argument names become spaces."""
    extra = {key.replace("_", " "): value for key, value in args.items()}
    return {"ph": "X", "cat": cat, "name": name, "pid": PID, "tid": tid, "ts": start, "dur": end - start, "args": extra}


def operator(name: str, start: float, end: float, tid: int = MAIN, **args: Any) -> dict[str, Any]:
    """Return an operator, with arguments such as ``Input_Dims``."""
    return event("cpu_op", name, start, end, tid, **args)


def launch(correlation: int, start: float, ran: tuple[float, float], tid: int = MAIN) -> list[dict[str, Any]]:
    """Return a launch of one microsecond and its kernel, which runs during ``ran``."""
    where: dict[str, Any] = {
        "device": 0,
        "stream": 7,
        "correlation": correlation,
        "grid": [1, 1, 1],
        "block": [32, 1, 1],
    }
    return [
        event("cuda_runtime", "cudaLaunchKernel", start, start + 1, tid, correlation=correlation),
        event("kernel", "gemm", *ran, 7, **where) | {"pid": 0},
    ]


def python(name: str, number: int, parent: int | None, start: float, end: float, **args: Any) -> dict[str, Any]:
    """Return a call of a Python function."""
    return event("python_function", name, start, end, Python_id=number, Python_parent_id=parent, **args)


def write(
    folder: Path,
    events: Sequence[dict[str, Any]],
    gpu: str = "NVIDIA H200",
    settings: Mapping[str, int] = MappingProxyType({}),
) -> Path:
    """Write a trace of these events; ``settings`` are those of the profiler."""
    properties = [{"id": 0, "name": gpu, "computeMajor": 9, "computeMinor": 0, "numSms": 132}]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "made.pt.trace.json"
    head = {"schemaVersion": 1, "deviceProperties": properties, **settings}
    path.write_text(json.dumps({**head, "traceEvents": list(events)}))
    return path


def taken_in(folder: Path, events: Sequence[dict[str, Any]], **settings: int) -> tuple[Library, str]:
    """Import a trace of these events, and return the library and the id of the report."""
    ingest_files(folder / "data", [write(folder, events, settings=settings)])
    library = Library(folder / "data" / "library")
    return library, library.list()[0].id


SIZES: dict[str, Any] = {
    "Input_Dims": [[64], [128, 32], [32, 64], [], []],
    "Input_type": ["c10::BFloat16"] * 3 + ["Scalar"] * 2,
}
PRODUCT: dict[str, Any] = {"Input_Dims": [[128, 64], [64, 32]], "Input_type": ["c10::BFloat16"] * 2}


def linear_layer() -> list[dict[str, Any]]:
    """Return a linear layer's forward and backward, an operator that calls itself, and a kernel without an operator."""
    backward: dict[str, Any] = {"Sequence_number": 7, "Fwd_thread_id": 1}
    return [
        event("user_annotation", "step", 0, 100),
        python("train.py(5): main", 1, None, 0, 100),
        python("nn.Module: Linear_0", 2, 1, 9, 61, Python_module_id=0),
        operator("aten::linear", 10, 60, External_id=1),
        operator("aten::addmm", 20, 50, External_id=2, Sequence_number=7, Fwd_thread_id=0, **SIZES),
        *launch(1, 25, (200, 240)),
        operator("aten::add", 62, 70, External_id=3),
        operator("aten::add", 63, 69, External_id=4),
        *launch(2, 64, (240, 245)),
        operator("profiler::_record_function_enter_new", 71, 72, External_id=5),
        *launch(9, 80, (245, 255)),
        operator("autograd::engine::evaluate_function: AddmmBackward0", 110, 150, AUTOGRAD, **backward),
        operator("AddmmBackward0", 112, 148, AUTOGRAD, **backward),
        operator("aten::mm", 115, 125, AUTOGRAD, External_id=8, **PRODUCT),
        *launch(3, 116, (260, 290), AUTOGRAD),
        operator("aten::mm", 130, 140, AUTOGRAD, External_id=9, **PRODUCT),
        *launch(4, 131, (290, 310), AUTOGRAD),
    ]
