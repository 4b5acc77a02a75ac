"""Data that a capture may lack: how to explain the gap to the reader, and which command captures the data."""

import re
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import duckdb

from profiledb import config
from profiledb.errors import NotCapturedError
from profiledb.library.catalog import LAUNCHES, TIMELINE, Subject
from profiledb.report.schema import ADDED, quote
from profiledb.words import KIND_TITLES


@dataclass(frozen=True)
class Capture:
    """Data that a profiler can capture: the table that it fills, its display name, the command, and its use.

    ``PROGRAM`` in the command stands for the program. The command is empty if the capture used it but recorded nothing;
    ``none`` then says so.
    """

    table: str
    subject: Subject
    title: str
    command: str
    use: str
    none: str = "The capture asked for it, but nothing was recorded."

    @property
    def lack(self) -> str:
        """Return the sentence that says that the report lacks this data. Acronyms keep their capitals."""
        plain = self.title[1:2].isupper() or self.title.startswith("Open")
        return f"No {self.title if plain else self.title[:1].lower() + self.title[1:]} in this report."


TRACED = {
    "kernel": "CAPTURE_EVENT_TYPE=Cuda",
    "memop": "CAPTURE_EVENT_TYPE=Cuda",
    "api_call": "CAPTURE_EVENT_TYPE=Cuda",
    "range": "CAPTURE_EVENT_TYPE=NvtxEvents",
    "osrt_call": "CAPTURE_EVENT_TYPE=OSRuntime",
    "openacc_event": "CAPTURE_EVENT_TYPE=OpenACC",
    "openmp_event": "CAPTURE_EVENT_TYPE=OpenMP",
    "memory_event": "PROCESS_0:COLLECT_GPU_MEMORY_USAGE=true",
    "um_cpu_page_fault": "PROCESS_0:COLLECT_UVM_CPU_PAGE_FAULTS=true",
    "um_gpu_page_fault": "PROCESS_0:COLLECT_UVM_GPU_PAGE_FAULTS=true",
    "cpu_sample": "LINUX_PERF_OPTIONS:COLLECT_IP_BACKTRACE_SAMPLES=true",
    "sched_event": "LINUX_PERF_OPTIONS:COLLECT_CPU_CTXSW_TRACE=true",
}
"""For each table, the capture setting that shows that it was requested (name=value, as nsys writes it)."""
BY_ONE_TRACE = ("kernel", "memop", "api_call")
"""Tables that a single trace option fills. Older nsys versions do not record the option as a setting, so rows in any of
these tables show that it was on."""
NO_COPIES = "CUDA was traced: no copies and no memsets in this capture."
_OPENACC = r"_\d+_gpu(__red)?$"
"""Name pattern of kernels that NVIDIA's compilers generate for OpenACC directives: function and line. OpenMP kernels
are named differently."""
PROGRAM = "PROGRAM"
PROFILE = f"warpdeck profile -- {PROGRAM}"
"""The command that records all that ``warpdeck profile`` records by itself."""
_NCU = f"ncu --set full -o report {PROGRAM}"
_PROFILE_WITH = re.compile(r"warpdeck profile(?: --with (?P<records>[a-z,]+))? -- (?P<program>.+)")


def _with(record: str) -> str:
    return f"warpdeck profile --with {record} -- {PROGRAM}"


CAPTURES = (
    Capture("kernel", TIMELINE, "CUDA kernels", PROFILE, "kernel times and classes"),
    Capture("memop", TIMELINE, "Memcpy and memset", PROFILE, "memcpy and memset by direction and size"),
    Capture("api_call", TIMELINE, "CUDA API calls", PROFILE, "launch overhead and CPU waits"),
    Capture("range", TIMELINE, "NVTX ranges", PROFILE, "time by range"),
    Capture("osrt_call", TIMELINE, "OS runtime calls", PROFILE, "why the CPU waits"),
    Capture("memory_event", TIMELINE, "GPU memory use", PROFILE, "allocated memory over time"),
    Capture("gpu_metric", TIMELINE, "GPU metrics", _with("metrics"), "SM, tensor and DRAM activity over time"),
    Capture("cpu_sample", TIMELINE, "CPU samples", _with("samples"), "which code the CPU runs"),
    Capture("sched_event", TIMELINE, "CPU scheduling", PROFILE, "when threads run"),
    Capture("mpi_call", TIMELINE, "MPI calls", _with("mpi"), "messages between ranks"),
    Capture("openacc_event", TIMELINE, "OpenACC events", _with("openacc"), "time by directive"),
    Capture("openmp_event", TIMELINE, "OpenMP events", _with("openmp"), "how evenly threads share their work"),
    Capture("um_cpu_page_fault", TIMELINE, "CPU page faults", _with("faults"), "unified memory that the CPU waits for"),
    Capture("um_gpu_page_fault", TIMELINE, "GPU page faults", _with("faults"), "unified memory that the GPU waits for"),
    Capture("ncu_launch", LAUNCHES, "Profiled kernels", _NCU, "speed of light by kernel"),
    Capture(
        "ncu_roofline_point",
        LAUNCHES,
        "Work and traffic",
        f"ncu --set roofline -o report {PROGRAM}",
        "how far each kernel is from its roof",
    ),
    Capture("ncu_metric", LAUNCHES, "Metrics", _NCU, "all counters of each kernel"),
    Capture("ncu_rule", LAUNCHES, "Rule results", _NCU, "ncu's own advice"),
    Capture("ncu_detail", LAUNCHES, "Sections", _NCU, "the details page"),
)


@dataclass(frozen=True)
class Advice:
    """Capture advice for a profiler other than Nsight.

    Attributes:
        captures: the data that it records.
        rest: a sentence about data that it does not record.
        files: the display name of its files, in the plural.
    """

    captures: tuple[Capture, ...]
    rest: str
    files: str


_PROFILE = "torch.profiler.profile"
_BOTH = f"{_PROFILE}(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])"
_OF_TORCH = (
    Capture("kernel", TIMELINE, "CUDA kernels", _BOTH, "kernel times and classes"),
    Capture("memop", TIMELINE, "Memcpy and memset", _BOTH, "memcpy and memset by direction and size"),
    Capture("api_call", TIMELINE, "CUDA API calls", _BOTH, "launch overhead and CPU waits"),
    Capture("range", TIMELINE, "Operators and annotations", _BOTH, "time by range"),
    Capture("tensor_event", TIMELINE, "Memory of tensors", f"{_PROFILE}(profile_memory=True)", "memory by operator"),
    Capture("operator", TIMELINE, "Operators", _BOTH, "time by operator"),
    Capture("module_call", TIMELINE, "Modules", f"{_PROFILE}(with_stack=True, with_modules=True)", "time by module"),
    Capture("python_call", TIMELINE, "Python functions", f"{_PROFILE}(with_stack=True)", "time by source line"),
)
_OF_SNAPSHOT = (
    Capture(
        "tensor_segment", TIMELINE, "Segments of the allocator",
        'torch.cuda.memory._record_memory_history(); ...; torch.cuda.memory._dump_snapshot("run.pickle")',
        "memory by stack, and fragmentation",
    ),
)  # fmt: skip
_OF_ROCPROF = (
    Capture("kernel", TIMELINE, "Kernels", f"rocprofv3 --kernel-trace -- {PROGRAM}", "kernel times and classes"),
    Capture("memop", TIMELINE, "Copies", f"rocprofv3 --memory-copy-trace -- {PROGRAM}", "copies by direction and size"),
    Capture("api_call", TIMELINE, "HIP calls", f"rocprofv3 --hip-trace -- {PROGRAM}", "launch overhead and CPU waits"),
    Capture("range", TIMELINE, "Ranges (roctx)", f"rocprofv3 --marker-trace -- {PROGRAM}", "time by range"),
)
_NVPROF = f"nvprof --export-profile run.nvvp {PROGRAM}"
_OF_NVPROF = (
    Capture("kernel", TIMELINE, "CUDA kernels", _NVPROF, "kernel times and classes"),
    Capture("memop", TIMELINE, "Memcpy and memset", _NVPROF, "memcpy and memset by direction and size"),
    Capture("api_call", TIMELINE, "CUDA API calls", _NVPROF, "launch overhead and CPU waits"),
    Capture("range", TIMELINE, "NVTX ranges", _NVPROF, "time by range"),
)
_XLA = "jax.profiler.trace(folder)"
_OF_XLA = (
    Capture("kernel", TIMELINE, "Kernels", _XLA, "kernel times and classes"),
    Capture("memop", TIMELINE, "Memcpy and memset", _XLA, "memcpy and memset by direction and size"),
    Capture("api_call", TIMELINE, "Launch calls", _XLA, "launch overhead and CPU waits"),
    Capture("range", TIMELINE, "Host events", _XLA, "time by range"),
    Capture("operator", TIMELINE, "HLO operations", _XLA, "time by operation"),
)
_PERFETTO = f"rocprofv3 --sys-trace --output-format pftrace -- {PROGRAM}"
_OF_PERFETTO = tuple(replace(one, command=_PERFETTO) for one in _OF_ROCPROF)
_COUNTERS = Capture(
    "counter_value", TIMELINE, "Performance counters", f"rocprofv3 --kernel-trace --pmc SQ_WAVES -- {PROGRAM}",
    "counters by kernel",
)  # fmt: skip
_OF_PROTON = (
    Capture(
        "path_sum", TIMELINE, "Sums by call path", 'triton.profiler.start("run", data="tree")', "kernels by call path"
    ),
)
BY_KIND = {
    "torch": Advice(_OF_TORCH, "The PyTorch profiler does not record this.", f"Traces of the {KIND_TITLES['torch']}"),
    "snapshot": Advice(_OF_SNAPSHOT, "A memory snapshot holds memory alone.", "Memory snapshots of PyTorch"),
    "rocprof": Advice((*_OF_ROCPROF, _COUNTERS), "rocprofv3 does not record this.", "Captures of rocprofv3"),
    "nvprof": Advice(_OF_NVPROF, "Nsight Systems records it on GPUs since Pascal.", "Databases of nvprof"),
    "perfetto": Advice(
        _OF_PERFETTO, "A trace of Perfetto shows this only where another profiler recorded it.", "Traces of Perfetto"
    ),
    "proton": Advice(
        _OF_PROTON,
        "proton sums launches by call path, without their times: torch.profiler.profile() records these.",
        "Profiles of Triton's proton",
    ),
    "xla": Advice(_OF_XLA, "The XLA profiler does not record this.", "Profiles of XLA"),
}
"""Advice by the KIND that a format registers (ingest/formats). All other kinds use Nsight's, ``CAPTURES``."""

INCLUDES = ("ncu", "program")
"""View files that ``missing`` reads (views.py)."""


class Reader(Protocol):
    """A cursor on a report, or the results of an earlier one."""

    def execute(self, sql: str, /) -> Any:
        """Execute a statement; return its result."""


class Facts:
    """A reader that asks a cursor each question once: a report does not change. Its questions have few rows.

    Args:
        cursor: a cursor on the report.
        tables: whether a table has rows, as far as it is known (filled_tables.py).
    """

    def __init__(self, cursor: duckdb.DuckDBPyConnection, tables: Mapping[str, bool]) -> None:
        self.tables = tables
        self._cursor = cursor
        self._rows: dict[str, list[Any]] = {}
        self._last: list[Any] = []

    def execute(self, sql: str, /) -> Self:
        if sql not in self._rows:
            self._rows[sql] = self._cursor.execute(sql).fetchall()
        self._last = self._rows[sql]
        return self

    def fetchall(self) -> list[Any]:
        return self._last

    def fetchone(self) -> Any:
        return next(iter(self._last), None)


def has_rows(cursor: Reader, table: str) -> bool:
    """Return True if a table of this report has any rows; a report that was made before the table existed has none."""
    if isinstance(cursor, Facts) and table in cursor.tables:
        return cursor.tables[table]
    try:
        return cursor.execute(f'SELECT 1 FROM "{table}" LIMIT 1').fetchone() is not None
    except duckdb.CatalogException:
        if table in ADDED:
            return False
        raise


def was_asked_for(cursor: Reader, table: str) -> bool:
    """Return True if the capture settings show that the data in this table was traced."""
    if table in BY_ONE_TRACE and any(has_rows(cursor, one) for one in BY_ONE_TRACE):
        return True
    if table not in TRACED:
        return False
    settings = cursor.execute("SELECT concat(name, '=', value) FROM capture_setting").fetchall()
    return (TRACED[table],) in settings


def _find_own_advice(cursor: Reader) -> Advice | None:
    """Return the advice specific to the profiler that wrote this report, or None."""
    kinds = cursor.execute("SELECT kind FROM report").fetchall()
    return next((BY_KIND[kind] for (kind,) in kinds if kind in BY_KIND), None)


def _is_wsl(cursor: Reader) -> bool:
    return cursor.execute("SELECT 1 FROM machine WHERE wsl").fetchone() is not None


def _has_launched(cursor: Reader) -> bool:
    """Return True if the program called functions that launch kernels, copy or set memory."""
    called = f"""SELECT 1 FROM string WHERE regexp_matches(value, {quote(_LAUNCHES)})
        AND string_id IN (SELECT name_id FROM api_call) LIMIT 1"""
    return cursor.execute(called).fetchone() is not None


def list_missing(cursor: Reader) -> list[Capture]:
    """Return the data that this report lacks compared with other reports on the same subject, most important first."""
    program = find_program(cursor)
    if own := _find_own_advice(cursor):
        lacks = [one for one in own.captures if not has_rows(cursor, one.table)]
        return [replace(one, command=name_program(one.command, program)) for one in lacks]
    subject = LAUNCHES if has_rows(cursor, "ncu_launch") else TIMELINE
    missing = [one for one in CAPTURES if one.subject == subject and not has_rows(cursor, one.table)]
    missing = [one for one in missing if one.table != "openmp_event" or _has_openmp_events(cursor)]
    graphs = has_rows(cursor, "graph_launch")
    return [
        _drop_command(cursor, one) if was_asked_for(cursor, one.table) and not (graphs and one.table == "kernel")
        else replace(one, command=name_program(one.command, program))
        for one in missing
        if one.table != "openacc_event" or _uses_openacc(cursor)
    ]  # fmt: skip


def find_program(cursor: Reader) -> str:
    """Return the command line of the program, quoted for a shell; ``PROGRAM`` if the report has none."""
    row = cursor.execute("FROM recorded_program").fetchone()
    return str(row[0]) if row else PROGRAM


def name_program(command: str, program: str) -> str:
    """Put a program into a command, for ``PROGRAM``."""
    return command.replace(PROGRAM, program, 1)


def join_commands(commands: Iterable[str]) -> list[str]:
    """Return commands that record the same, with one for all that ``warpdeck profile`` records of a program; empty ones
    are left out."""
    joined: dict[str, list[str]] = {}
    others: list[str] = []
    for command in filter(None, commands):
        if match := _PROFILE_WITH.fullmatch(command):
            joined.setdefault(match["program"], []).extend((match["records"] or "").split(","))
        else:
            others.append(command)
    ours = [
        f"warpdeck profile{f' --with {records}' if (records := ','.join(dict.fromkeys(filter(None, every)))) else ''}"
        f" -- {program}"
        for program, every in joined.items()
    ]
    return [*ours, *dict.fromkeys(others)]


def _drop_command(cursor: Reader, one: Capture) -> Capture:
    """Return the capture for data that was requested but not recorded.

    If kernels were recorded, missing copies mean that the program copied nothing.
    """
    copied = one.table == "memop" and has_rows(cursor, "kernel")
    return replace(one, command="", none=NO_COPIES) if copied else replace(one, command="")


def _uses_openacc(cursor: Reader) -> bool:
    """Return True if a kernel comes from an OpenACC directive; other programs get no advice to trace OpenACC."""
    named = f"SELECT 1 FROM kernel_name WHERE regexp_matches(short, {quote(_OPENACC)}) LIMIT 1"
    return cursor.execute(named).fetchone() is not None


def _has_openmp_events(cursor: Reader) -> bool:
    """Return True if OpenMP was requested or an OpenMP runtime that reports to tools was loaded; libgomp does not."""
    seen = "SELECT 1 FROM string WHERE regexp_matches(value, '/lib(omp|iomp5)[^/]*[.]so') LIMIT 1"
    return was_asked_for(cursor, "openmp_event") or cursor.execute(seen).fetchone() is not None


GPU_SIDE = ("kernel", "memop")
_LAUNCHES = r"Launch(Kernel|Cooperative|Grid|$|_)|GraphLaunch|Mem(cpy|set)"
"""Pattern of the names of calls that give the GPU work."""
OF_SIDECARS = {
    "timing": NotCapturedError(
        "No timings from the program in this report.",
        why="To add them, drop NAME.timings.csv (columns label, step, seconds) beside the report NAME.",
    ),
    "power_log": NotCapturedError("No log of power and clocks in this report.", command=PROFILE),
    "task_time": NotCapturedError(
        "No times of the same work on CPU and GPU in this report.",
        why="To add them, drop NAME.tasks.csv (columns task, size, device, part, seconds) beside the report NAME.",
    ),
    "task_decision": NotCapturedError(
        "No decisions of a scheduler in this report.", command=f"{config.WORKLOADS} profile queue --model model.skops"
    ),
    "meta": NotCapturedError(
        "No facts about the program in this report.",
        why="To add them, drop NAME.meta.json (a JSON object) beside the report NAME.",
    ),
}
"""Errors for data that no profiler writes (sidecar.py), by table."""


def find_lack(cursor: Reader, table: str) -> NotCapturedError:
    """Return the error for a question that needs an empty table. Reads the views of ``program``."""
    if own := _find_own_advice(cursor):
        error = _make_own_error(own, table)
    else:
        work = any(has_rows(cursor, one) for one in GPU_SIDE)
        error = explain_capture(
            table,
            calls_traced=not work and has_rows(cursor, "api_call"),
            launched=not work and _has_launched(cursor),
            graphs_traced=not work and has_rows(cursor, "graph_launch"),
            asked_for=was_asked_for(cursor, table),
            wsl=_is_wsl(cursor),
        )
    if PROGRAM not in error.command:
        return error
    command = name_program(error.command, find_program(cursor))
    return NotCapturedError(error.message, why=error.why, command=command, use=error.use, tables=error.tables)


def explain_capture(
    table: str, *, calls_traced: bool = False, launched: bool = False, graphs_traced: bool = False,
    asked_for: bool = False, wsl: bool = False,
) -> NotCapturedError:  # fmt: skip
    """Return the error for a question that needs a table that this report lacks.

    Args:
        table: the empty table.
        calls_traced: True if CUDA calls were recorded, so that only GPU activity is missing.
        launched: True if some of these calls launch kernels or copy.
        graphs_traced: True if CUDA graphs were recorded as a whole.
        asked_for: True if the capture already asked for it, so that suggesting it is pointless.
        wsl: True if the report was captured under WSL2.
    """
    if graphs_traced and table in GPU_SIDE:
        return NotCapturedError(
            "CUDA graphs were traced as a whole, so their kernels are not in this report.", command=PROFILE
        )
    if calls_traced and table in GPU_SIDE:
        return NotCapturedError(
            "No GPU activity was recorded, although CUDA calls were.",
            why=f"{_explain_lack(launched=launched, wsl=wsl)} CUDA calls are on the API page.",
            tables=GPU_SIDE,
        )
    if table in OF_SIDECARS:
        return copy(OF_SIDECARS[table])
    for capture in CAPTURES:
        if capture.table == table:
            why = (NO_COPIES if table == "memop" else capture.none) if asked_for else ""
            command = "" if asked_for else capture.command
            return NotCapturedError(capture.lack, why=why, command=command, use=capture.use, tables=(table,))
    for own in BY_KIND.values():
        for lack in (capture.lack for capture in own.captures if capture.table == table):
            return NotCapturedError(lack, why=f"{own.files} have them: drop one into the Library.", tables=(table,))
    return NotCapturedError(f"This report has no rows in {table}.", why="Capture with the trace that records it.")


def _explain_lack(*, launched: bool, wsl: bool) -> str:
    if not launched:
        return "The program launched nothing."
    advice = ": WSL2 drivers often do not, so profile on native Linux." if wsl else "."
    return f"The program launched work, but the driver did not report it{advice}"


def _make_own_error(own: Advice, table: str) -> NotCapturedError:
    """Return the same error for a profiler other than Nsight: how to record the data with it, or which profiler can."""
    if table in OF_SIDECARS:
        return copy(OF_SIDECARS[table])
    for one in (*own.captures, *CAPTURES):
        if one.table == table:
            why = "" if one in own.captures else own.rest
            return NotCapturedError(one.lack, why=why, command=one.command, use=one.use, tables=(table,))
    return NotCapturedError(f"This report has no rows in {table}.", why=own.rest)
