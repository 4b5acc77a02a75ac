"""The tree of lanes: their order, their names, and the groups that are requested together."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count

TITLES = {
    "projection": "Ranges on the GPU", "idle": "Idle time", "nccl": "NCCL", "range": "Ranges", "api": "CUDA API",
    "sync": "Synchronization", "osrt": "OS runtime", "mpi": "MPI", "openacc": "OpenACC", "openmp": "OpenMP",
    "nccl_call": "NCCL calls", "sched": "On a core", "sample": "CPU samples", "overhead": "Profiler overhead",
    "path": "Critical path",
}  # fmt: skip
ON_GPU = ("line", "projection", "idle", "stream", "nccl")
"""Kinds of lanes below a GPU, in order."""
ON_THREAD = ("projection", "range", "api", "sync", "nccl_call", "openmp", "osrt", "mpi", "openacc", "sched", "sample")
"""Kinds of lanes below a thread, in order."""

LANES = 20_000
"""Largest number of lanes; threads with the fewest events are left out first."""
GROUP_LANES = 32
GROUP_ROWS = 16
SPARSE = 8_192
"""Number of events up to which a lane is read whole at any zoom."""


@dataclass
class Lane:
    """A lane, or a folder of lanes.

    ``direct``: read from the report's tables; ``leveled``: also stored in bins; ``sum_z``: its sums are stored for bins
    of 2^sum_z ns; ``code``: its number within its kind while the file is built; ``log``: from the power log of the
    report.
    """

    kind: str
    title: str = ""
    detail: str = ""
    rows: int = 1
    events: int = 0
    busy_ns: int = 0
    device: int | None = None
    pid: int | None = None
    stream: int | None = None
    tid: int | None = None
    unit: str | None = None
    max: float | None = None
    overlaps: bool = False
    direct: bool = False
    leveled: bool = False
    first_ns: int = 0
    last_ns: int = 0
    source: str | None = None
    code: int = -1
    log: bool = False
    sum_z: int | None = None
    id: int = -1
    parent: int | None = None
    grp: int | None = None
    inside: list["Lane"] = field(default_factory=list)


@dataclass(frozen=True)
class Names:
    """Titles of GPUs by number, and of processes and threads by global id, with their own numbers."""

    gpus: dict[int, str]
    processes: dict[int, str]
    threads: dict[int, str]


def get_pid(global_id: int) -> int:
    """Return the operating system's process id in a global id."""
    return (global_id >> 24) & 0xFFFFFF


def get_tid(global_tid: int) -> int:
    """Return the operating system's thread id in a global id."""
    return global_tid & 0xFFFFFF


def build_tree(lanes: Sequence[Lane], names: Names) -> tuple[list[Lane], int]:
    """Return all lanes with their folders, numbered in order, and the number of lanes left out."""
    of_log = [lane for lane in lanes if lane.log]
    lanes = [lane for lane in lanes if not lane.log]
    top = [_add_titles(lane) for lane in lanes if lane.kind == "path"]
    top += [*_list_gpus(lanes, names), *_list_processes(lanes, names)]
    top += [Lane("group", "Power and clocks", inside=of_log)] if of_log else []
    top += [_add_titles(lane) for lane in lanes if lane.kind == "overhead"]
    listed, left_out = _limit_lanes(top)
    for number, lane in enumerate(listed):
        lane.id = number
    for lane in listed:
        for one in lane.inside:
            one.parent = lane.id
    _number_groups([lane for lane in listed if not lane.inside])
    return listed, left_out


def _list_gpus(lanes: Sequence[Lane], names: Names) -> Iterator[Lane]:
    of_gpu = [lane for lane in lanes if lane.kind in ON_GPU and (lane.device is not None or lane.kind == "stream")]
    for device in sorted({lane.device for lane in of_gpu}, key=lambda one: (one is None, one or 0)):
        inside = [lane for lane in of_gpu if lane.device == device]
        inside.sort(key=lambda lane: (ON_GPU.index(lane.kind), -lane.events if lane.kind == "stream" else 0))
        several = len({lane.pid for lane in inside if lane.kind == "stream"}) > 1
        projected = sum(lane.kind == "projection" for lane in inside) > 1
        for lane in inside:
            _add_titles(lane)
            if lane.kind == "stream":
                owner = f" · {_describe_process(lane.pid or 0, names)}"
                lane.title = f"Stream {lane.stream if lane.stream is not None else '–'}{owner if several else ''}"
            elif lane.kind == "projection" and projected:
                lane.title = f"{TITLES['range']} · {_title_thread(lane.tid or 0, names)}"
        title = f"GPU {device}" if device is not None else "GPU"
        yield Lane("gpu", title, names.gpus.get(device or 0, ""), device=device, inside=inside)


def _list_processes(lanes: Sequence[Lane], names: Names) -> list[Lane]:
    threads: dict[int, list[Lane]] = {}
    for lane in lanes:
        if lane.kind in ON_THREAD and not (lane.kind == "projection" and lane.device is not None):
            threads.setdefault(lane.tid or 0, []).append(_add_titles(lane))
    processes: dict[int, list[Lane]] = {}
    for tid, inside in threads.items():
        inside.sort(key=lambda lane: ON_THREAD.index(lane.kind))
        folder = Lane("thread", _title_thread(tid, names), "", pid=tid >> 24 << 24, tid=tid, inside=inside)
        processes.setdefault(tid >> 24 << 24, []).append(folder)
    folders = []
    for pid, inside in processes.items():
        inside.sort(key=_make_sort_key)
        path = names.processes.get(pid, "")
        folders.append(
            Lane("process", _describe_process(pid, names), path if "/" in path else "", pid=pid, inside=inside)
        )
    return sorted(folders, key=lambda one: min(map(_make_sort_key, one.inside)))


def _make_sort_key(folder: Lane) -> tuple[int, int, int]:
    """Sort key: threads that call CUDA first, then those with the most events."""
    calls = sum(lane.events for lane in folder.inside if lane.kind == "api")
    return -calls, -sum(lane.events for lane in folder.inside), folder.tid or 0


def _describe_process(pid: int, names: Names) -> str:
    """Return the file name of a process's program, and its process id."""
    return f"{names.processes.get(pid, '').rpartition('/')[2] or 'Process'} ({get_pid(pid)})"


def _title_thread(tid: int, names: Names) -> str:
    number = get_tid(tid)
    return f"{names.threads.get(tid) or 'Thread'} ({number})" if number else "All threads"


def _add_titles(lane: Lane) -> Lane:
    lane.title = lane.title or TITLES.get(lane.kind, lane.kind)
    return lane


def _walk_lanes(lanes: Iterable[Lane]) -> Iterator[Lane]:
    for lane in lanes:
        yield lane
        yield from _walk_lanes(lane.inside)


def _limit_lanes(top: list[Lane]) -> tuple[list[Lane], int]:
    """Return the lanes in order; if there are too many, drop those of the threads with the fewest events."""
    listed = list(_walk_lanes(top))
    if len(listed) <= LANES:
        return listed, 0
    threads = sorted((lane for lane in listed if lane.kind == "thread"), key=_make_sort_key)
    over, gone = len(listed) - LANES, set()
    while over > 0 and threads:
        thread = threads.pop()
        gone.add(id(thread))
        over -= 1 + len(thread.inside)
    for process in top:
        process.inside = [lane for lane in process.inside if id(lane) not in gone]
    remaining = [lane for lane in top if lane.kind != "process" or lane.inside]
    return (shown := list(_walk_lanes(remaining))[:LANES]), len(listed) - len(shown)


def _number_groups(lanes: Sequence[Lane]) -> None:
    """Number the groups: neighbors in a folder, or small lanes, up to a number of lanes and rows."""
    numbers, group, size, rows = count(), 0, 0, 0
    before: Lane | None = None
    for lane in lanes:
        fits = size < GROUP_LANES and rows + lane.rows <= GROUP_ROWS
        near = before and (lane.parent == before.parent or not (lane.leveled or before.leveled))
        if not (before and fits and near):
            group, size, rows = next(numbers), 0, 0
        lane.grp, size, rows, before = group, size + 1, rows + lane.rows, lane
