"""Load a database of nvprof or the Visual Profiler into the tables of a report."""

import sqlite3
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb

from ingest import diagnostics
from ingest.nvprof.functions import name_function
from ingest.nvprof.tables import Tables
from ingest.torch.event_batches import make_event, make_mark, make_span, name_process, name_thread, parse_number
from ingest.torch.event_database import Record, load_database, note_unread
from profiledb.words import counted

TOOL = "nvprof"
KIND = "nvprof"
_READ = frozenset(
    {"CONCURRENT_KERNEL", "KERNEL", "CDP_KERNEL", "MEMCPY", "MEMCPY2", "MEMSET", "RUNTIME", "DRIVER", "MARKER",
     "SYNCHRONIZATION", "OVERHEAD", "NAME", "DEVICE", "CONTEXT"}
)  # fmt: skip
_FACTS = frozenset(
    {"DEVICE_ATTRIBUTE", "STREAM", "PCIE", "NVLINK", "FUNCTION", "MODULE", "SOURCE_LOCATOR", "MARKER_DATA",
     "CUDA_EVENT", "EXTERNAL_CORRELATION", "PC_SAMPLING_RECORD_INFO"}
)  # fmt: skip
"""Kinds of records that describe others."""
_MEASURED = frozenset({"METRIC", "METRIC_INSTANCE", "EVENT", "EVENT_INSTANCE"})
_COPIES = ("Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP")
_MEMORY = ("", "Pageable", "Pinned", "Device", "Array", "Managed", "Device Static", "Managed Static")
_WAITS = ("", "Event Synchronize", "Stream Wait Event", "Stream Synchronize", "Context Synchronize")
_OVERHEADS = {1: "Driver Compiler", 1 << 16: "Buffer Flush", 2 << 16: "Instrumentation", 3 << 16: "Resource"}
_INSTANT, _START, _END = 1, 2, 4
"""Flags of markers."""
_PROCESS, _THREAD = 1, 2
"""Kinds of objects that records are about."""
_PLACE = ("deviceId AS device", "contextId AS context", "streamId AS stream", "correlationId AS correlation")
_NODES = ("graphId AS graph id", "graphNodeId AS graph node id")
_SIZES = tuple(f"{size}{axis}" for size in ("grid", "block") for axis in "XYZ")


class Capture:
    """The records of a database as events, and the facts of its GPUs.

    After ``list_events``, ``excluded`` counts records without a possible time, ``unclosed`` ranges without an end,
    ``repeated`` launches that were repeated to measure them, and ``unread`` records that are not read, by their kind.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.gpus: list[Record] = []
        self.excluded = self.unclosed = self.repeated = 0
        self.unread: dict[str, int] = {}

    def list_events(self, source: sqlite3.Connection) -> Iterator[Record]:
        tables = Tables(self._path, source)
        self.gpus = list(_list_gpus(tables))
        self.unread = {
            kind: count for kind in tables.kinds() if kind not in _READ | _FACTS and (count := tables.count(kind))
        }
        yield from self._list_kernels(tables)
        yield from self._list_copies(tables)
        yield from self._list_calls(tables)
        yield from self._list_host(tables)
        yield from self._list_ranges(tables)

    def _spans(self, rows: Iterator[Record]) -> Iterator[tuple[Record, tuple[int, int]]]:
        """Yield records with their start and end, which they lose."""
        for row in rows:
            if span := make_span(row.pop("start"), row.pop("end")):
                yield row, span
            else:
                self.excluded += 1

    def _list_kernels(self, tables: Tables) -> Iterator[Record]:
        """Yield launches. Analyses of the Visual Profiler repeat them one at a time, in a table of their own."""
        kinds = ["CONCURRENT_KERNEL", "CDP_KERNEL"]
        if "KERNEL" in tables.kinds() and (repeated := tables.count("KERNEL")):
            if "CONCURRENT_KERNEL" in tables.kinds() and tables.count("CONCURRENT_KERNEL"):
                self.repeated = repeated
            else:
                kinds[0] = "KERNEL"
        columns = ("name", "start", "end", *_PLACE, *_NODES, *_SIZES, "registersPerThread AS registers per thread",
                   "staticSharedMemory AS static", "dynamicSharedMemory AS dynamic")  # fmt: skip
        for kind in kinds:
            for row, span in self._spans(tables.rows(kind, *columns)):
                name = tables.text(row.pop("name")) or "kernel"
                sizes = [parse_number(row.pop(size)) for size in _SIZES]
                shared = [parse_number(row.pop(part)) for part in ("static", "dynamic")]
                whole = all(size is not None for size in sizes)
                yield make_event(
                    "kernel", name, span, grid=sizes[:3] if whole else None, block=sizes[3:] if whole else None,
                    **{"shared memory": sum(one or 0 for one in shared), **_parse_numbers(row)},
                )  # fmt: skip

    def _list_copies(self, tables: Tables) -> Iterator[Record]:
        columns = ("start", "end", "bytes", *_PLACE, *_NODES)
        for kind in ("MEMCPY", "MEMCPY2"):
            for row, span in self._spans(tables.rows(kind, *columns, "copyKind", "srcKind", "dstKind")):
                way, source, target = (
                    _label(row.pop(key), labels)
                    for key, labels in (("copyKind", _COPIES), ("srcKind", _MEMORY), ("dstKind", _MEMORY))
                )
                name = f"Memcpy {way or 'Unknown'}" + (f" ({source} -> {target})" if source and target else "")
                yield make_event("gpu_memcpy", name, span, **_parse_numbers(row))
        for row, span in self._spans(tables.rows("MEMSET", *columns, "memoryKind")):
            memory = _label(row.pop("memoryKind"), _MEMORY)
            yield make_event("gpu_memset", f"Memset ({memory or 'Unknown'})", span, **_parse_numbers(row))

    def _list_calls(self, tables: Tables) -> Iterator[Record]:
        columns = ("cbid", "start", "end", "processId", "threadId", "correlationId")
        for api in ("runtime", "driver"):
            for row, span in self._spans(tables.rows(api.upper(), *columns)):
                name = name_function(api, parse_number(row["cbid"]) or 0)
                place = (parse_number(row["processId"]) or 0, (parse_number(row["threadId"]) or 0) & 0xFFFFFFFF)
                yield make_event(f"cuda_{api}", name, span, place, correlation=parse_number(row["correlationId"]))

    def _list_host(self, tables: Tables) -> Iterator[Record]:
        """Yield waits, the profiler's own work, and names of processes and threads."""
        devices = {row["contextId"]: row["deviceId"] for row in tables.rows("CONTEXT", "contextId", "deviceId")}
        columns = ("start", "end", "type", *_PLACE[1:], "cudaEventId AS wait_on_cuda_event_id")
        for row, span in self._spans(tables.rows("SYNCHRONIZATION", *columns)):
            wait, device = _label(row.pop("type"), _WAITS), parse_number(devices.get(row["context"]))
            yield make_event("cuda_sync", wait, span, cuda_sync_kind=wait, device=device, **_parse_numbers(row))
        for row, span in self._spans(tables.rows("OVERHEAD", "start", "end", "overheadKind", "hex objectId")):
            name = _OVERHEADS.get(row["overheadKind"], "Overhead")
            yield make_event("overhead", name, span, _read_place(row["objectId"]))
        for row in tables.rows("NAME", "objectKind", "hex objectId", "name"):
            pid, tid = _read_place(row["objectId"])
            if row["objectKind"] == _PROCESS:
                yield name_process(pid, tables.text(row["name"]))
            elif row["objectKind"] == _THREAD:
                yield name_thread(pid, tid, tables.text(row["name"]))

    def _list_ranges(self, tables: Tables) -> Iterator[Record]:
        """Yield NVTX ranges and marks. The start of a range has its name, its end the same id."""
        opened: dict[Any, tuple[int, str, tuple[int, int]]] = {}
        for row in tables.rows("MARKER", "flags", "timestamp", "id", "name", "domain", "hex objectId"):
            flags, time = parse_number(row["flags"]) or 0, parse_number(row["timestamp"]) or 0
            domain, place = tables.text(row["domain"]), _read_place(row["objectId"])
            name = f"{domain}:{tables.text(row['name'])}" if domain else tables.text(row["name"])
            if flags & _INSTANT and time > 0:
                yield make_mark(name, time, place)
            elif flags & _START:
                opened[row["id"]] = (time, name, place)
            elif flags & _END and row["id"] in opened:
                start, name, place = opened.pop(row["id"])
                if span := make_span(start, time):
                    yield make_event("user_annotation", name, span, place)
                else:
                    self.excluded += 1
        self.unclosed = len(opened)


def load_capture(db: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Fill the tables of the report that ``db`` has open as catalog ``report``.

    Raises:
        ConversionError: the file has no record with a time.
    """
    capture = Capture(path)
    load_database(
        db, path, capture.list_events, lambda: {"deviceProperties": capture.gpus}, TOOL, KIND, "SQLite of nvprof"
    )
    note_unread(db, capture.unread)
    if capture.excluded:
        diagnostics.note(db, "warning", f"{counted(capture.excluded, 'record')} without a possible time excluded.")
    if capture.unclosed:
        diagnostics.note(db, "info", f"{counted(capture.unclosed, 'range')} without an end not read.")
    if capture.unread.keys() & _MEASURED:
        text = "Launches ran one at a time while metrics were measured: the profiler made the gaps between them."
        diagnostics.note(db, "warning", text)
    if capture.repeated:
        diagnostics.note(
            db, "info", f"{counted(capture.repeated, 'launch')} that analyses of the Visual Profiler repeated not read."
        )


def _list_gpus(tables: Tables) -> Iterator[Record]:
    """Yield the facts of GPUs under the names of a trace."""
    keys = {
        "numSms": "numMultiprocessors", "totalGlobalMem": "globalMemorySize", "warpSize": "numThreadsPerWarp",
        "computeMajor": "computeCapabilityMajor", "computeMinor": "computeCapabilityMinor",
        "maxThreadsPerBlock": "maxThreadsPerBlock", "regsPerMultiprocessor": "maxRegistersPerMultiprocessor",
        "regsPerBlock": "maxRegistersPerBlock", "sharedMemPerMultiprocessor": "maxSharedMemoryPerMultiprocessor",
        "sharedMemPerBlock": "maxSharedMemoryPerBlock",
    }  # fmt: skip
    rates = ("maxWarpsPerMultiprocessor", "coreClockRate", "globalMemoryBandwidth")
    for row in tables.rows("DEVICE", "id", "name", *keys.values(), *rates):
        warps, clock, bandwidth = (parse_number(row[rate]) for rate in rates)
        width = parse_number(row["numThreadsPerWarp"])
        yield {
            **{key: row[column] for key, column in keys.items()}, "id": row["id"], "name": tables.text(row["name"]),
            "maxThreadsPerMultiprocessor": warps * width if warps and width else None,
            "clock_hz": clock * 1000 if clock else None, "bytes_per_s": bandwidth * 1000 if bandwidth else None,
        }  # fmt: skip


def _parse_numbers(row: Record) -> Record:
    return {key: parse_number(value) for key, value in row.items()}


def _label(number: Any, labels: tuple[str, ...]) -> str:
    return labels[number] if type(number) is int and 0 <= number < len(labels) else ""


def _read_place(spelled: Any) -> tuple[int, int]:
    """Return process and thread of an object, from its bytes in hexadecimal."""
    data = bytes.fromhex(spelled) if isinstance(spelled, str) else b""
    pid, tid = struct.unpack("<II", data[:8].ljust(8, b"\0"))
    return pid, tid
