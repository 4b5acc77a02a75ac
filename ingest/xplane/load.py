"""Load a profile of XLA (JAX, TensorFlow, PyTorch/XLA) into the tables of a report.

A file holds planes: one for each GPU, whose lines are its streams, and one for the host, whose lines are its threads.
What XLA derives from them for its own viewers (lines such as "XLA Ops") is left out.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from ingest import diagnostics
from ingest.derive import stage
from ingest.torch.event_batches import batch_events, make_event, name_thread
from ingest.torch.events import Events
from ingest.torch.load import XLA, complete_events
from ingest.xplane.hlo import Module
from ingest.xplane.messages import get_space_class
from profiledb.errors import ConversionError
from profiledb.words import counted

MOST_BYTES = 2_000_000_000
"""Size from which protobuf refuses a message."""
HOST = "host"
"""Process of all threads: a file does not say which one wrote it."""
_GPU = re.compile(r"^/device:GPU:(\d{1,4})$")
_STREAM = re.compile(r"^Stream #(\d{1,18})\b")
_CALL = re.compile(r"^(cuda|cu|hip)[A-Z]")
_PYTHON = re.compile(r"^\$(?P<file>[^: ]+):(?P<line>\d+) (?P<function>.+)$")
_DESCRIPTOR = re.compile(r"(?:\.kd| \[clone \.kd\])$")
"""Ending of the symbol of a kernel's descriptor, which AMD's tools show in place of the kernel."""
_DETAIL = re.compile(r"(\w+):(\S+)")
_MEMORY = {"pageable": "Pageable", "pinned": "Pinned", "device": "Device", "array": "Array"}
_VALUES = ("int64_value", "uint64_value", "double_value", "str_value")


class Plane:
    """A plane with its names and the values of its events; ``excluded`` counts those that were left out."""

    def __init__(self, plane: Any) -> None:
        self.name = _parse_text(plane.name)
        self.lines = plane.lines
        self._names = {entry.key: _parse_text(entry.value.name) for entry in plane.stat_metadata}
        self.kinds = {entry.key: entry.value for entry in plane.event_metadata}
        self.facts = self.values(plane.stats)
        self.excluded = 0

    def values(self, stats: Iterable[Any]) -> dict[str, Any]:
        """Return the values of an event by name."""
        named_values: dict[str, Any] = {}
        for stat in stats:
            name = self._names.get(stat.metadata_id)
            if not name:
                continue
            if stat.ref_value:
                named_values[name] = self._names.get(stat.ref_value, "")
            else:
                value = next((value for key in _VALUES if (value := getattr(stat, key))), 0)
                named_values[name] = _parse_text(value) if isinstance(value, bytes) else value
        return named_values

    def read_bytes(self, stats: Iterable[Any]) -> bytes:
        """Return the HLO among the values of an event; empty if it has none."""
        return next((stat.bytes_value for stat in stats if self._names.get(stat.metadata_id) == "Hlo Proto"), b"")

    def events(self, line: Any, *, counts: bool = True) -> Iterator[tuple[str, tuple[int, int], dict[str, Any]]]:
        """Yield name, start and end (ns) and values of the events of a line, and count those that are left out."""
        for event in line.events:
            kind = self.kinds.get(event.metadata_id)
            start = line.timestamp_ns * 1000 + event.offset_ps
            if kind is None or start < 0 or event.duration_ps < 0:
                self.excluded += counts
                continue
            yield _parse_text(kind.name), (start // 1000, (start + event.duration_ps) // 1000), self.values(event.stats)


class Programs:
    """Costs of the operations of a profile's programs, and the kernel that each call launched."""

    def __init__(self, planes: Iterable[Plane]) -> None:
        self._texts: dict[int, bytes] = {}
        self._modules: dict[int, Module] = {}
        self._kernels: dict[object, str] = {}
        for plane in planes:
            if plane.name == "/host:metadata":
                self._texts |= {
                    number: text for number, kind in plane.kinds.items() if (text := plane.read_bytes(kind.stats))
                }
            elif _GPU.match(plane.name):
                for line in plane.lines:
                    if _STREAM.match(_parse_text(line.name)):
                        self._kernels |= {
                            values["correlation_id"]: name
                            for name, _, values in plane.events(line, counts=False)
                            if "correlation_id" in values
                        }

    def kernel(self, values: Mapping[str, Any]) -> str:
        """Return the kernel that a call with these values launched; empty if it launched none."""
        return self._kernels.get(values.get("correlation_id"), "")

    def module(self, values: Mapping[str, Any]) -> Module | None:
        """Return the module of HLO that a call with these values belongs to."""
        number = values.get("program_id")
        if not isinstance(number, int) or number not in self._texts:
            return None
        if number not in self._modules:
            self._modules[number] = Module(self._texts[number])
        return self._modules[number]


def load_profile(db: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Fill the tables of the report that ``db`` has open as catalog ``report``.

    Raises:
        ConversionError: the file is damaged, or no event of it has a time.
    """
    profile = _read(path)
    size = profile.ByteSize()
    profile.DiscardUnknownFields()
    planes = [Plane(plane) for plane in profile.planes]
    stage(db)
    events = Events(db)
    events.take(batch_events(_list_events(planes)))
    gpus = [gpu for plane in planes if (gpu := _read_gpu(plane))]
    began = next((plane.facts.get("profile_start_time") for plane in planes if plane.name == "Task Environment"), None)
    keys = {"deviceProperties": gpus, "baseTimeNanoseconds": began}
    complete_events(db, events, keys, XLA, "xla", "XSpace (xplane.pb)")
    if profile.ByteSize() != size:
        text = "The profile has fields that its format does not have: it is damaged, or of a later version."
        diagnostics.note(db, "warning", f"{text} Their values are missing in this report.")
    if count := sum(plane.excluded for plane in planes):
        diagnostics.note(
            db, "warning", f"{counted(count, 'event')} without a name or with an impossible time excluded."
        )
    if gpus and not any(gpu["name"] for gpu in gpus):
        diagnostics.note(db, "info", "XLA does not name the product of a GPU.")


def _read(path: Path) -> Any:
    if path.stat().st_size > MOST_BYTES:
        raise ConversionError(
            f"{path.name} is larger than 2 GB, which no reader of its format takes.", hint="Capture fewer steps."
        )
    profile = get_space_class()()
    try:
        profile.ParseFromString(path.read_bytes())
    except DecodeError as error:
        raise ConversionError(
            f"{path.name} is damaged or cut off.", hint="Copy it again from its source, or capture again."
        ) from error
    return profile


def _list_events(planes: Iterable[Plane]) -> Iterator[dict[str, Any]]:
    programs = Programs(planes)
    for plane in planes:
        if match := _GPU.match(plane.name):
            for line in plane.lines:
                if stream := _STREAM.match(_parse_text(line.name)):
                    yield from _list_operations(plane, line, int(match[1]), int(stream[1]))
        elif plane.name.startswith("/host:CPU"):
            for line in plane.lines:
                yield from _list_host(plane, line, programs)


def _list_operations(plane: Plane, line: Any, device: int, stream: int) -> Iterator[dict[str, Any]]:
    for name, span, values in plane.events(line):
        args: dict[str, Any] = {"device": device, "stream": stream, "correlation": values.get("correlation_id"),
                "context": _parse_number(values.get("context_id"))}  # fmt: skip
        if details := values.get("memcpy_details"):
            fields = dict(_DETAIL.findall(str(details)))
            yield make_event(
                "gpu_memcpy", _name_copy(name, fields), span, bytes=_parse_number(fields.get("size")), **args
            )
        elif details := values.get("memset_details"):
            fields = dict(_DETAIL.findall(str(details)))
            yield make_event(
                "gpu_memset", "Memset (Device)", span, bytes=_parse_number(fields.get("num_bytes")), **args
            )
        else:
            fields = dict(_DETAIL.findall(str(values.get("kernel_details", ""))))
            shared = [_parse_number(fields.get(key)) for key in ("static_shared", "dynamic_shared", "group_mem")]
            more: dict[str, Any] = {
                "grid": _parse_sizes(fields.get("grid")), "block": _parse_sizes(fields.get("block")),
                "registers per thread": _parse_number(fields.get("regs")),
                "shared memory": sum(one for one in shared if one) if any(one is not None for one in shared) else None,
            }  # fmt: skip
            yield make_event("kernel", _DESCRIPTOR.sub("", name), span, **args, **more)


def _list_host(plane: Plane, line: Any, programs: Programs) -> Iterator[dict[str, Any]]:
    """Yield the events of a thread. Calls for one operation of a module follow each other: each such run is an operator
    inside the module."""
    place = (HOST, line.id)
    yield name_thread(*place, _parse_text(line.display_name or line.name))
    runs: list[_Run] = []
    for name, span, values in sorted(plane.events(line), key=lambda one: (one[1][0], -one[1][1])):
        if _CALL.match(name):
            yield make_event("cuda_runtime", name, span, place, correlation=values.get("correlation_id"))
            yield from _extend(runs, span, values, place, programs)
        elif name.startswith("$"):
            match = _PYTHON.match(name)
            label = "{file}({line}): {function}".format(**match.groupdict()) if match else name[1:]
            yield make_event("python_function", label, span, place)
        elif "step_num" in values:
            yield make_event("user_annotation", f"{name} {values['step_num']}", span, place)
        else:
            yield make_event("host", name, span, place)
    yield from (run.event(place) for run in runs)


class _Run:
    """Calls that follow each other and belong to one module, or to one execution of an operation of it.

    ``kernel`` is the first that the calls launched, ``work`` the cost of an operation, under the names of a trace.
    """

    def __init__(
        self, key: tuple[str, str], span: tuple[int, int], values: Mapping[str, Any], programs: Programs
    ) -> None:
        self.key = key
        self.span = span
        self.kernel = programs.kernel(values)
        self.work: dict[str, Any] = {}
        self._path = str(values.get("source") or "")
        self._repeats = True
        if key[1] and (module := programs.module(values)):
            self.work, self._repeats = module.describe(key[1]), module.repeats(key[1])

    def holds(self, key: tuple[str, str], kernel: str) -> bool:
        """Return True if a call that launched ``kernel`` belongs to this run.

        An operation that launches a kernel once begins anew with its first kernel. Of others that is not known, so
        neither is how often they ran.
        """
        if key != self.key:
            return False
        if key[1] and kernel and kernel == self.kernel:
            if not self._repeats:
                return False
            self.work = {}
        self.kernel = self.kernel or kernel
        return True

    def event(self, place: tuple[object, object]) -> dict[str, Any]:
        module, operation = self.key
        if operation:
            return make_event("cpu_op", operation, self.span, place, **{"Call stack": self._path or None}, **self.work)
        return make_event("xla_module", module, self.span, place)


def _extend(
    runs: list[_Run], span: tuple[int, int], values: Mapping[str, Any], place: tuple[object, object], programs: Programs
) -> Iterator[dict[str, Any]]:
    """Add a call to the runs that it continues, begin others, and yield those that it ends. A module is a run, too."""
    module, operation = str(values.get("hlo_module") or ""), str(values.get("hlo_op") or "")
    wanted = [(module, "")] * bool(module) + [(module, operation)] * bool(module and operation)
    kernel, continued = programs.kernel(values), 0
    while continued < min(len(runs), len(wanted)) and runs[continued].holds(wanted[continued], kernel):
        runs[continued].span = (runs[continued].span[0], max(runs[continued].span[1], span[1]))
        continued += 1
    yield from (run.event(place) for run in runs[continued:])
    del runs[continued:]
    runs += [_Run(key, span, values, programs) for key in wanted[continued:]]


def _name_copy(name: str, fields: Mapping[str, str]) -> str:
    """Return a copy's name as the PyTorch profiler has it: direction, and kinds of memory where they are known."""
    ways = re.search(r"([HDP])(?:2|to)([HDP])", f"{name} {fields.get('kind', '')}")
    source, target = (_MEMORY.get(fields.get(key, "")) for key in ("kind_src", "kind_dst"))
    direction = f"{ways[1]}to{ways[2]}" if ways else "Unknown"
    return f"Memcpy {direction}" + (f" ({source} -> {target})" if source and target else "")


def _read_gpu(plane: Plane) -> dict[str, Any] | None:
    match = _GPU.match(plane.name)
    facts = plane.facts
    if not match or not facts:
        return None
    vendor = str(facts.get("device_vendor") or "")
    major, minor = facts.get("compute_cap_major"), facts.get("compute_cap_minor")
    is_amd = vendor == "AMD"
    named = f"AMD GPU, gfx{major}{minor}x" if is_amd and major else "AMD GPU" if is_amd else ""
    return {
        "id": int(match[1]), "name": named or None, "numSms": facts.get("core_count"),
        "totalGlobalMem": facts.get("memory_size"), "computeMajor": major, "computeMinor": minor,
        "warpSize": 64 if is_amd else 32, "clock_hz": _scale(facts.get("clock_rate"), 1000),
        # of AMD's GPUs XLA states half of the bandwidth: 2.66 of 5.3 TB/s on MI300X
        "bytes_per_s": None if is_amd else _scale(facts.get("memory_bandwidth"), 1),
    }  # fmt: skip


def _scale(value: Any, factor: int) -> int | None:
    """Return a rate in its base unit, or None if it is none."""
    return value * factor if type(value) is int and value > 0 else None


def _parse_text(value: bytes) -> str:
    return value.decode("utf-8", "replace")


def _parse_number(value: Any) -> int | None:
    text = str(value)
    return int(text) if text.isdecimal() and len(text) < 19 else None


def _parse_sizes(value: str | None) -> list[int] | None:
    """Return the three sizes of "16,1,1"."""
    parts = [_parse_number(part) for part in (value or "").split(",")]
    return [part for part in parts if part is not None] if len(parts) == 3 and None not in parts else None
