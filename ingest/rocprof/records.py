"""Dispatches, copies, calls and ranges as events, for both the JSON and the database of rocprofv3."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from ingest.torch.event_batches import make_event, parse_number

TOOL = "rocprofv3"
KIND = "rocprof"
_WAY = re.compile(r"(host|device)_?to_?(host|device)", re.IGNORECASE)


def make_dispatch(
    name: str, span: tuple[int, int], place: dict[str, Any], grid: Sequence[Any], group: Sequence[Any], **more: Any
) -> dict[str, Any]:
    """Return the event of a kernel. AMD states the grid in threads, not in groups; ``place`` has its GPU, stream and
    correlation."""
    threads, sizes = ([parse_number(one) for one in many] for many in (grid, group))
    whole = all(one and one > 0 for one in (*threads, *sizes))
    groups = [-(-one // size) for one, size in zip(threads, sizes, strict=True) if one and size] if whole else None
    return make_event("kernel", name, span, grid=groups, block=sizes if whole else None, **place, **more)


def make_copy(operation: str, span: tuple[int, int], place: dict[str, Any], size: Any) -> dict[str, Any]:
    """Return the event of a copy, whose operation is named as in MEMORY_COPY_HOST_TO_DEVICE."""
    return make_event("gpu_memcpy", name_copy(operation), span, bytes=parse_number(size), **place)


def name_copy(operation: str) -> str:
    """Return the name of a copy as a PyTorch trace has it, from MEMORY_COPY_HOST_TO_DEVICE or CopyHostToDevice."""
    way = _WAY.search(operation)
    return f"Memcpy {way[1][0].upper()}to{way[2][0].upper()}" if way else "Memcpy Unknown"


def make_call(name: str, span: tuple[int, int], place: tuple[Any, Any], correlation: Any) -> Iterator[dict[str, Any]]:
    """Yield the event of a call."""
    yield make_event("hip_runtime", name, span, place, correlation=parse_number(correlation))


def make_gpu(index: int, facts: dict[str, Any]) -> dict[str, Any]:
    """Return a GPU's facts under the names of a trace."""
    waves, width = parse_number(facts.get("max_waves_per_cu")), parse_number(facts.get("wave_front_size"))
    return {
        "id": index, "name": facts.get("product_name") or facts.get("name"), "numSms": facts.get("cu_count"),
        "warpSize": width, "maxThreadsPerBlock": facts.get("workgroup_max_size"),
        "maxThreadsPerMultiprocessor": waves * width if waves and width else None,
    }  # fmt: skip
