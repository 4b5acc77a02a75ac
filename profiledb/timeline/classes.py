"""Classes of a timeline's events: a name, a title and two colors each. A color code is an index into them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from profiledb.rules.classes import KernelClass
from profiledb.rules.colors import Pair, fade, get_activity_color

MOST_NVTX = 512
"""Colors of NVTX ranges from a report; ranges of further colors look uncolored."""


@dataclass(frozen=True)
class Class:
    """A class: its name, title, and color in the light and the dark theme, ``#RRGGBB``."""

    name: str
    title: str
    light: str
    dark: str


_IDLE_SHARE = 0.5
"""Share of a color in that of idle time, so that lanes of idle time stay quiet."""


def _fade(reason: str) -> Pair:
    return fade(get_activity_color(reason), _IDLE_SHARE)


FIXED = (
    Class("copy-to-device", "Copy to the GPU", "#F0E442", "#F0E442"),
    Class("copy-to-host", "Copy to the host", "#E69F00", "#E69F00"),
    Class("copy-on-device", "Copy on the GPU", "#7A828E", "#8B95A3"),
    Class("copy-between", "Copy between GPUs", "#A35C9A", "#C684BD"),
    Class("copy-other", "Other copy", "#9AA1AB", "#6B7480"),
    Class("memset", "Memset", "#9AA1AB", "#6B7480"),
    Class("graph", "CUDA graph", "#656D78", "#A9B0BB"),
    Class("range", "Range", "#7F93B8", "#5E7299"),
    Class("nccl", "NCCL", "#0E6A2D", "#22B252"),
    Class("api-launch", "Launch", *get_activity_color("launch")),
    Class("api-synchronization", "Synchronization", *get_activity_color("synchronization")),
    Class("api-blocking copy", "Blocking copy", *get_activity_color("blocking copy")),
    Class("api-queued copy", "Queued copy", *get_activity_color("queued copy")),
    Class("api-allocation", "Allocation", *get_activity_color("allocation")),
    Class("api-module loading", "Module loading", *get_activity_color("module loading")),
    Class("api-other", "Other call", "#9AA1AB", "#6B7480"),
    Class("sync", "Wait for the GPU", *get_activity_color("synchronization")),
    Class("osrt", "OS runtime call", *get_activity_color("OS runtime call")),
    Class("mpi", "MPI", "#46A394", "#76C4B7"),
    Class("openacc", "OpenACC", "#7DAFE1", "#96BCE2"),
    Class("openmp", "OpenMP", "#7A5FA8", "#A48BD0"),
    Class("openmp-wait", "OpenMP: waiting", "#D9B8E8", "#5B4570"),
    Class("sched", "On a core", "#1BAF7A", "#5BE7A9"),
    Class("sample", "CPU sample", "#5F6670", "#A9B0BB"),
    Class("overhead", "Profiler overhead", "#B3261E", "#CC3328"),
    Class("idle-synchronization", "Idle: synchronization", *_fade("synchronization")),
    Class("idle-copy call", "Idle: copy call", *_fade("copy call")),
    Class("idle-launch call", "Idle: launch call", *_fade("launch call")),
    Class("idle-allocation", "Idle: allocation", *_fade("allocation")),
    Class("idle-module loading", "Idle: module loading", *_fade("module loading")),
    Class("idle-other CUDA call", "Idle: other CUDA call", "#CCD0D5", "#4A525E"),
    Class("idle-OS runtime call", "Idle: OS runtime call", *_fade("OS runtime call")),
    Class("idle-host code", "Idle: non-CUDA code", *_fade("host code")),
    Class("idle-launch latency", "Idle: launch latency", *_fade("launch latency")),
    Class("idle-page migration", "Idle: page migration", "#B9BEC6", "#525B67"),
    Class("path-non-CUDA code", "Critical path: non-CUDA code", *_fade("host code")),
    Class("path-launch latency", "Critical path: launch latency", *_fade("launch latency")),
    Class("idle-unknown", "Idle: unknown", "#EEF0F2", "#262B33"),
)

RANGES: dict[str, tuple[str, tuple[tuple[str, str], ...]]] = {
    "phase": ("Phase", (
        ("#5B8DB8", "#4C83B3"), ("#C98A5A", "#B0713F"), ("#6FA287", "#558B6E"), ("#A783B8", "#8C659F"),
    )),
    "module": ("Module", (("#9CC7B0", "#3A6B54"), ("#B4D3A4", "#50703C"), ("#86B5B0", "#2F605B"))),
    "operator": ("Operator", (("#B3BFD6", "#46546E"), ("#C5CCDA", "#5A6577"), ("#A0B1D0", "#37486A"))),
    "name": ("Range", (
        ("#8FB4D9", "#3F6A94"), ("#E8B57C", "#8F6430"), ("#93C9A1", "#3F7A50"), ("#DE9F9A", "#8A4A4A"),
        ("#B9A3D6", "#6A5591"), ("#CDB592", "#75603F"), ("#E3AECB", "#8A5576"), ("#AEBAC2", "#55646E"),
        ("#CBCE86", "#75783A"), ("#8FCBCB", "#3B7A7A"),
    )),
}  # fmt: skip
"""Colors of ranges by their names, for each kind its title and its shades in the light and the dark theme."""
_NO_OPERATION = frozenset({"nccl", "sync", "sched"})


def list_range_classes() -> list[Class]:
    """Return the classes of ``RANGES``, named by kind and shade: ``phase-0``."""
    return [
        Class(f"{kind}-{shade}", title, *colors)
        for kind, (title, shades) in RANGES.items()
        for shade, colors in enumerate(shades)
    ]


def choose_legend(classes: Sequence[Class], operations: Collection[str], ranges: Collection[str]) -> list[int]:
    """Return the classes to explain: those of operations and idle time, and of traces the kinds of ranges.

    Args:
        classes: all classes.
        operations: names of the classes of operations and idle times that occur.
        ranges: those of ranges.
    """
    kinds = {name.partition("-")[0] for name in ranges}
    kinds = kinds - {"name"} if kinds & {"module", "operator"} else set()
    shown = {f"{kind}-0" for kind in kinds} | (set(operations) - _NO_OPERATION)
    return [place for place, one in enumerate(classes) if one.name in shown]


def list_classes(kernel_classes: Sequence[KernelClass], used: Collection[str]) -> list[Class]:
    """Return all classes: ``other`` first, those of kernels, the fixed ones, and one per color of NVTX ranges."""
    kernels = [Class(c.name, c.title, c.light, c.dark) for c in kernel_classes]
    kernels.sort(key=lambda one: one.name != "other")
    fixed = (*FIXED, *list_range_classes())
    plain = {one.name for one in (*kernels, *fixed)}
    colors = sorted(name for name in used if name not in plain and name.startswith("nvtx-"))[:MOST_NVTX]
    brought = [Class(name, "Range", f"#{name[5:]}", f"#{name[5:]}") for name in colors]
    return [*kernels, *fixed, *brought]
