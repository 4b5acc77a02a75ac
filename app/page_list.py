"""Which pages there are: a line each. Their scripts stand in ``views``, a folder a page."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from profiledb.library.catalog import LAUNCHES, TIMELINE, Manifest, Subject
from profiledb.query import header
from profiledb.report.sidecar import Kind

FOLDER = Path(__file__).with_name("views")
_KERNELS = ("kernel", "graph_launch")
_GPU = (*_KERNELS, "memop")
_WORK = (*_GPU, "api_call", "range")
_OVER_TIME = (
    "gpu_metric", "memory_event", "sync", "osrt_call", "mpi_call", "openacc_event", "openmp_event",
    "sched_event", "cpu_sample",
)  # fmt: skip

GPU, PROGRAM, COMPARE, SPECIAL, DATA = "GPU", "Program", "Compare", "Special", "Data"
"""Groups of the menu; what has none stands above them."""
GROUPS = ("", GPU, PROGRAM, COMPARE, SPECIAL, DATA)
"""In the order of the menu."""


class Shelf(Protocol):
    """What the menu asks about a report beside its manifest (``session`` knows it)."""

    def has_sidecar(self, report_id: str, kind: Kind) -> bool:
        """Whether the program left a file of this kind beside the report."""

    def has_answer(self, report_id: str, name: str) -> bool:
        """Whether this analysis has a row for the report."""


@dataclass(frozen=True)
class View:
    """A page of a report: its address, its title, its group in the menu, what of a report it shows, its script.

    ``subject``: None where it shows reports of every kind. ``listed``: in the menu.
    ``selects``: it shows the part of the report that is selected; others show the whole.
    ``lack``: the end of the sentence with which the menu grays it where it holds nothing of a report: where none of
    ``tables`` has a row, or without these, where the report lacks what each analysis of the page needs. A page of the
    group SPECIAL is in the menu only where its data is: a file ``beside`` the report, or a row of the analysis
    ``answer``. ``was``: addresses that it had before. ``across``: it shows all reports of the library, and needs none
    at hand.
    """

    url: str
    title: str
    group: str
    subject: Subject | None
    icon: str
    script: str
    listed: bool = True
    selects: bool = True
    tables: tuple[str, ...] = ()
    lack: str = ""
    beside: Kind | None = None
    answer: str = ""
    was: tuple[str, ...] = ()
    across: bool = False

    def fits(self, manifest: Manifest) -> bool:
        """Whether the report has what the page shows."""
        return self.subject is None or self.subject in manifest.subjects

    def offers(self, manifest: Manifest, shelf: Shelf) -> bool:
        """Whether the page holds anything of a report; one that is opened by its address says itself what it lacks."""
        if not (self.listed and self.fits(manifest)):
            return False
        if self.beside:
            return shelf.has_sidecar(manifest.id, self.beside)
        return self._has_rows(manifest) and (not self.answer or shelf.has_answer(manifest.id, self.answer))

    def _has_rows(self, manifest: Manifest) -> bool:
        if not manifest.rows or not (self.lack or self.answer):
            return True
        if self.tables:
            return any(map(manifest.rows.get, self.tables))
        shown = [one for one in header.analyses().values() if self.answer == one.name or self.url == one.page]
        return any(all(any(map(manifest.rows.get, tables)) for tables in one.needs) for one in shown)

    @property
    def for_guests(self) -> bool:
        """Whether somebody with a sharing link may open it: not what shows all reports, nor what takes questions."""
        return not self.across and self.group not in (COMPARE, DATA)

    @property
    def path(self) -> Path:
        """The script."""
        return FOLDER / self.script


VIEWS = (
    View("summary", "Summary", "", TIMELINE, ":material/dashboard:", "summary/page.py", was=("overview",)),
    View("findings", "Findings", "", None, ":material/fact_check:", "findings/page.py"),
    View(
        "what_if", "What if", "", TIMELINE, ":material/alt_route:", "what_if/page.py",
        selects=False, tables=_GPU, lack="no GPU activity",
    ),
    View(
        "timeline", "Timeline", "", TIMELINE, ":material/view_timeline:", "timeline/page.py",
        selects=False, tables=(*_WORK, *_OVER_TIME), lack="nothing to draw over time",
    ),
    View(
        "kernels", "Kernels", GPU, TIMELINE, ":material/table_rows:", "kernels/page.py",
        tables=_KERNELS, lack="no GPU kernels",
    ),
    View(
        "roofline_by_time", "Roofline by time", GPU, TIMELINE, ":material/show_chart:", "roofline_by_time/page.py",
        tables=_KERNELS, lack="no GPU kernels", was=("roofline_time",),
    ),
    View(
        "idle", "Idle", GPU, TIMELINE, ":material/hourglass_empty:", "idle/page.py", lack="no GPU activity",
    ),
    View(
        "ranges", "Ranges", PROGRAM, TIMELINE, ":material/account_tree:", "ranges/page.py",
        lack="no ranges (NVTX or annotations)", was=("nvtx",),
    ),
    View(
        "operators", "Operators", PROGRAM, TIMELINE, ":material/schema:", "operators/page.py",
        tables=("operator",), lack="no operators of the PyTorch profiler",
    ),
    View(
        "phases", "Phases", PROGRAM, TIMELINE, ":material/stacked_bar_chart:", "phases/page.py",
        tables=_KERNELS, lack="no GPU kernels", was=("split",),
    ),
    View(
        "memory", "Memory", PROGRAM, TIMELINE, ":material/swap_horiz:", "memory/page.py",
        tables=(*_GPU, "memory_event", "tensor_event"), lack="no GPU activity and no memory use",
    ),
    View(
        "api", "API", PROGRAM, TIMELINE, ":material/terminal:", "api/page.py", lack="no CUDA or OS calls",
    ),
    View(
        "host", "Host", PROGRAM, TIMELINE, ":material/developer_board:", "host/page.py",
        tables=("cpu_sample", "python_sample", "sched_event", "osrt_call", "openmp_event"),
        lack="no CPU samples, scheduling or OS calls",
    ),
    View(
        "compare", "Compare", COMPARE, TIMELINE, ":material/compare_arrows:", "compare/page.py",
        tables=_WORK, lack="nothing to compare: no GPU activity, calls or ranges",
    ),
    View(
        "scaling", "Scaling", COMPARE, TIMELINE, ":material/hub:", "scaling/page.py",
        selects=False, tables=_KERNELS, lack="no GPU kernels",
    ),
    View("trends", "Trends", COMPARE, None, ":material/trending_up:", "trends/page.py", selects=False, across=True),
    View(
        "attention", "Attention", SPECIAL, TIMELINE, ":material/grid_view:", "attention/page.py",
        answer="attention_parts",
    ),
    View("energy", "Energy", SPECIAL, TIMELINE, ":material/bolt:", "energy/page.py", beside="power"),
    View(
        "cpu_vs_gpu", "CPU vs GPU", SPECIAL, TIMELINE, ":material/compare:", "cpu_vs_gpu/page.py",
        selects=False, beside="tasks", was=("crossover", "cpu_gpu"),
    ),
    View(
        "timer_check", "Timer check", SPECIAL, TIMELINE, ":material/timer:", "timer_check/page.py",
        beside="timings", was=("timings",),
    ),
    View("kernel", "Kernel", GPU, TIMELINE, ":material/memory:", "kernel/page.py", listed=False),
    View(
        "kernel_profiles", "Kernel profiles", GPU, LAUNCHES, ":material/speed:", "kernel_profiles/page.py", was=("ncu",)
    ),
    View("roofline", "Roofline", GPU, LAUNCHES, ":material/show_chart:", "roofline/page.py"),
    View("sql", "SQL", DATA, None, ":material/database:", "sql/page.py", selects=False),
)  # fmt: skip
"""Every page of a report; the first that fits is the one that opens."""

LIBRARY = FOLDER / "library" / "page.py"
ADMIN = FOLDER / "admin" / "page.py"
ADMIN_URL = "admin"


def at(url: str) -> View:
    """The page at this address."""
    return next(view for view in VIEWS if view.url == url)


def script(url: str) -> Path:
    """The script of the page at this address."""
    return at(url).path


def first(manifest: Manifest) -> View:
    """The page on which a report opens."""
    return next(view for view in VIEWS if view.subject in manifest.subjects)
