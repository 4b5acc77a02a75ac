"""Read a Nsight Compute report with NVIDIA's ``ncu-report`` wheel, which has every digit of the report."""

import importlib.metadata
import importlib.util
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ingest.ncu import slim_copy
from ingest.ncu import units as ncu_units
from ingest.ncu.columns import Instance, Metrics
from ingest.ncu.container import Frame
from ingest.ncu.names import is_instanced
from ingest.ncu.shapes import Shape
from ingest.ncu.slim_copy import Measured
from ingest.ncu.tables import UNNAMED, Capture, Detail, Launch, Nvtx, Rule
from profiledb.errors import ConversionError

# Links within the messages of rules: @url:words:target@, @section:id:words@, @sass:address:words@,
# @source:file:line:words@ or @source:address:words@. ncu prints the target of the first kind only.
_URL = re.compile(r"@url:([^@]*?):(https?://[^@]*)@")
_LINK = re.compile(r"@(?:section:[^:@]*|sass:[^:@]*|source:(?:[^@]*?:\d+|[0-9a-f]+)):([^@]*)@")
_RULE_TYPES = {0: "", 1: "INF", 2: "OPT", 3: "WRN", 4: "ERR"}
_SPEEDUP_TYPES = {1: "local", 2: "global"}
_WORKLOADS = ("kernel", "range", "cmdlist", "graph", "subgrid_schedule")
# Values of IMetric.kind(): texts, and numbers of four sorts. Other kinds have no value.
_TEXT, _NUMBERS = 2, (3, 4, 5, 6)
# Rows of sections whose metric depends on the GPU: ncu shows the metric of the launch, the wheel another one or none.
_OF_GPU = {
    "Memory Workload Analysis": (
        ("L2 Compression Success Rate", "lrc__average_ilc_input_sector_success_rate.pct"),
        ("L2 Compression Ratio", "lrc__average_ilc_output_sector_compression_achieved_rate.pct"),
        ("L2 Compression Input Sectors", "lrc__ilc_input_sectors.sum"),
    ),
    "PM Sampling": (("Maximum Sampling Interval", "profiler__pmsampler_interval_time"),),
}
# Starts of names of metrics that only GPUs from compute capability 8.0 on have: ncu shows them for no other.
_COMPRESSED = "lts__average_gcomp_"
# Starts of names of metrics that stand for several.
_PATTERNS = ("regex:", "group:")


def is_available() -> bool:
    """Return True if the wheel is installed; the module that comes with Nsight Compute itself is of any version."""
    try:
        importlib.metadata.version("ncu-report")
    except importlib.metadata.PackageNotFoundError:
        return False
    return importlib.util.find_spec("ncu_report") is not None


def label() -> str:
    """Return name and version, for example ``ncu-report 2026.3.1``."""
    return f"ncu-report {importlib.metadata.version('ncu-report')}"


def read_quick(path: Path, frame: Frame, work: Path) -> Capture:
    """Read the same as ``read_report``, but the metrics without the wheel, which gets a small copy of the report in
    ``work``.

    The wheel alone reads reports of results that are no kernels, and reports with messages of an unknown kind. It reads
    such messages as far as it can and reports nothing, so a note does.

    Raises:
        ConversionError: the wheel cannot read the file.
    """
    slim = work / "slim.ncu-rep"
    try:
        return read_report(slim, frame, slim_copy.write_slim_copy(path, slim))
    except slim_copy.NoKernelsError:
        return read_report(path, frame)
    except (ValueError, ConversionError):
        capture = read_report(path, frame)
        text = (
            "Parts of the report are not as NVIDIA describes the format, so it may be damaged: launches, metrics and"
            " rules may be missing here. Copy it again, or capture again."
        )
        capture.diagnostics.append(("warning", "warpdeck", text))
        return capture


def read_report(path: Path, frame: Frame, measured: deque[Measured] | None = None) -> Capture:
    """Read all launches, metrics, details, rules and NVTX ranges of a report.

    Args:
        path: an uncompressed report whose frame is complete: the wheel reads a truncated one without an error.
        frame: facts from the frame; the wheel does not know processes.
        measured: the metrics of each launch if ``path`` is a copy without them; each is removed when used.

    Raises:
        ConversionError: the wheel cannot read the file, or ``measured`` are not of this report.
    """
    import ncu_report

    capture = Capture(converter=label())
    shapes: dict[bytes, Shape] = {}
    try:
        # Referenced until the end: its results live in it.
        context = ncu_report.load_report(str(path))
        numbers = _number_results(frame)
        for place, action in enumerate(action for part in context for action in part):
            launch_id = numbers.get(place, place)
            _add_launch(capture, launch_id, action, ncu_report.IAction)
            if measured is None:
                _read_by_wheel(capture, launch_id, action)
            else:
                _read_by_shape(capture, shapes, measured.popleft(), action)
        _add_processes(capture, frame)
        if measured:
            raise ValueError(f"metrics of {len(measured)} launches that the wheel does not tell")
    except Exception as error:
        # The wheel documents no errors: a damaged file raises TypeError, AttributeError or one of SWIG's own.
        raise ConversionError(
            f"{label()} cannot read the report: it is damaged or has an unknown version.",
            hint="Copy the file again, or capture again with Nsight Compute 2020 or newer.",
            detail=f"{type(error).__name__}: {error}",
        ) from error
    return capture


def _add_launch(capture: Capture, launch_id: int, action: Any, kinds: Any) -> None:
    launch = _make_launch(launch_id, action, kinds)
    ranges = list(_read_nvtx(launch_id, action.nvtx_state()))
    launch.nvtx = "/".join(entry.name for entry in ranges) or None
    capture.launches.append(launch)
    capture.nvtx += ranges


def _read_by_wheel(capture: Capture, launch_id: int, action: Any) -> None:
    capture.launches[-1].cc = _read_compute_capability(action)
    capture.details += _read_details(launch_id, action)
    capture.rules += _read_rules(launch_id, action, _order_sections(action))
    _read_metrics(capture.metrics, launch_id, action)


def _read_by_shape(capture: Capture, shapes: dict[bytes, Shape], measured: Measured, action: Any) -> None:
    """Take the metrics from the messages; the wheel reads the shared data from the first launch of each shape."""
    launch = capture.launches[-1]
    if measured.mangled != (launch.mangled or ""):
        raise ValueError(f"metrics of {measured.mangled} for the launch of {launch.mangled}")
    if measured.shape not in shapes:
        shapes[measured.shape] = _make_shape(capture.metrics, measured, action)
    shape = shapes[measured.shape]
    launch.cc = shape.cc
    capture.rules += _read_rules(launch.launch_id, action, shape.section_orders)
    capture.details += shape.take(capture.metrics, launch.launch_id, measured)


def _make_shape(metrics: Metrics, measured: Measured, action: Any) -> Shape:
    if tuple(action.metric_names()) != measured.names or len(list(action.sections())) != measured.sections:
        raise ValueError("the wheel tells other metrics or sections than the messages")
    # The wheel knows some units only after it has made the sections.
    rows = list(_read_details(0, action))
    units = [ncu_units.to_base_unit(action.metric_by_name(name).unit()) for name in measured.names]
    for name, (_, unit) in zip(measured.names, units, strict=True):
        if name not in metrics.ids:
            metrics.name(name, unit)
    return Shape(
        ids=np.array([metrics.ids[name] for name in measured.names]),
        factors=np.array([factor for factor, _ in units]),
        rows=rows,
        places={name: place for place, name in enumerate(measured.names)},
        section_orders=_order_sections(action),
        cc=_read_compute_capability(action),
    )


def _decode_text(text: str | None) -> str:
    """Return text of the profiled program, with bytes that are not UTF-8 replaced."""
    return (text or "").encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def to_plain_value(message: str) -> str:
    """Return a rule's message as ncu prints it: links become words, web addresses stand in parentheses."""
    return _LINK.sub(r"\1", _URL.sub(r"\1 (\2)", message))


def _number_results(frame: Frame) -> dict[int, int]:
    """Return the number of each result: ncu counts process by process, smallest id first, whatever their order is."""
    places = sorted(range(len(frame.processes)), key=lambda place: frame.processes[place][0] or 0)
    return {place: number for number, place in enumerate(places)}


def _add_processes(capture: Capture, frame: Frame) -> None:
    """Add the frame's processes, one per result; if the counts differ, only a single process is certain."""
    processes = frame.processes
    if len(processes) != len(capture.launches):
        known = processes[0] if len(set(processes)) == 1 else (None, None)
        processes = [known] * len(capture.launches)
    for launch, (pid, name) in zip(capture.launches, processes, strict=True):
        launch.pid, launch.process_name = pid, name


def _make_launch(launch_id: int, action: Any, kinds: Any) -> Launch:
    workload = {getattr(kinds, f"WorkloadType_{name.upper()}", None): name for name in _WORKLOADS}
    return Launch(
        launch_id,
        kernel=_decode_text(action.name(kinds.NameBase_DEMANGLED)) or UNNAMED,
        mangled=_decode_text(action.name(kinds.NameBase_MANGLED)) or None,
        workload=workload.get(action.workload_type()),
    )


def _read_compute_capability(action: Any) -> str | None:
    metrics = [action.metric_by_name(f"device__attribute_compute_capability_{part}") for part in ("major", "minor")]
    return ".".join(str(part.as_uint64()) for part in metrics) if all(part is not None for part in metrics) else None


def _read_metrics(metrics: Metrics, launch_id: int, action: Any) -> None:
    for name in action.metric_names():
        metric = action.metric_by_name(name)
        if name not in metrics.ids:
            metrics.name(name, ncu_units.to_base_unit(metric.unit())[1])
        metrics.add(launch_id, metrics.ids[name], *_read_value(metric, *ncu_units.to_base_unit(metric.unit())))
        if is_instanced(name):
            metrics.instances.add(_read_instances(launch_id, metrics.ids[name], metric))


def _read_value(metric: Any, factor: float, _unit: str) -> tuple[float | None, str | None]:
    kind = metric.kind()
    if kind in _NUMBERS and metric.has_value():
        return ncu_units.parse_finite(metric.as_double() * factor), None
    return ncu_units.parse_cell(_decode_text(metric.as_string()), factor) if kind == _TEXT else (None, None)


def _read_instances(launch_id: int, metric_id: int, metric: Any) -> Iterator[Instance]:
    count = metric.num_instances()
    keys: Any = metric.correlation_ids() if count else None
    kind = keys.kind(0) if keys is not None else 0
    for position in range(count):
        number = keys.as_uint64(position) if kind in _NUMBERS else None
        words = _decode_text(keys.as_string(position)) if kind == _TEXT else None
        yield launch_id, metric_id, position, number, words, ncu_units.parse_finite(metric.as_double(position))


def _read_details(launch_id: int, action: Any) -> Iterator[Detail]:
    position = 0
    for section in sorted(action.sections(), key=lambda section: section.order()):
        for label, metric in _list_rows(action, section):
            factor, unit = ncu_units.to_base_unit(metric.unit())
            value, text = _read_value(metric, factor, unit)
            yield Detail(launch_id, position, section.name(), label, metric.name(), unit, value, text)
            position += 1


def _list_rows(action: Any, section: Any) -> Iterator[tuple[str, Any]]:
    """Return the rows of a section as ncu shows them: label and metric."""
    compresses = float(_read_compute_capability(action) or "inf") >= 8
    of_gpu = ((label, action.metric_by_name(name)) for label, name in _OF_GPU.get(section.name(), ()))
    own = {label: metric for label, metric in of_gpu if metric is not None}
    for metric in _list_metrics(action, section.header_metrics()):
        if compresses or not metric.name().startswith(_COMPRESSED):
            label = metric.label() or metric.name()
            yield label, own.pop(label, metric)
    yield from own.items()


def _list_metrics(action: Any, metrics: Iterable[Any]) -> Iterator[Any]:
    """Return the metrics of a section; a metric requested by a pattern holds the names of those that ncu shows for
    it."""
    for metric in metrics:
        names = metric.as_string() if metric.name().startswith(_PATTERNS) and metric.kind() == _TEXT else None
        shown = [action.metric_by_name(name) for name in names.split(",")] if names else [metric]
        yield from (part for part in shown if part is not None)


def _order_sections(action: Any) -> dict[str, int]:
    return {section.identifier(): section.order() for section in action.sections()}


def _read_rules(launch_id: int, action: Any, order: Mapping[str, int]) -> Iterator[Rule]:
    results = [result for result in action.rule_results() if result.has_rule_message()]
    results.sort(key=lambda result: order.get(result.section_identifier(), 1 << 30))
    for position, result in enumerate(results):
        message = result.rule_message()
        speedup = result.speedup_estimation() if result.has_speedup_estimation() else {}
        yield Rule(
            launch_id,
            position,
            result.section_identifier(),
            result.rule_identifier(),
            _RULE_TYPES.get(int(message["type"]), ""),
            to_plain_value(_decode_text(message["message"])),
            _SPEEDUP_TYPES.get(int(speedup.get("type", 0))),
            speedup.get("speedup"),
        )


def _read_nvtx(launch_id: int, state: Any) -> Iterator[Nvtx]:
    for domain in (state[key] for key in state.domains()) if state is not None else ():
        for style, names in (("push_pop", domain.push_pop_ranges()), ("start_end", domain.start_end_ranges())):
            for level, name in enumerate(names):
                yield Nvtx(launch_id, _decode_text(domain.name()), style, level, _decode_text(name))
