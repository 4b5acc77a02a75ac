"""List the pages. Each has a folder in ``views``."""

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

MAIN, GPU, PROGRAM, COMPARE, SPECIAL, DATA = "", "GPU", "Program", "Compare", "Special", "Data"
GROUPS = (MAIN, GPU, PROGRAM, COMPARE, SPECIAL, DATA)
"""Groups of the menu in its order. The main pages have no heading."""
_SUBJECT_LACKS = {TIMELINE: "no timeline", LAUNCHES: "no hardware counters of kernel launches"}


class ReportData(Protocol):
    """Questions about a report that its manifest does not answer; ``session`` implements them."""

    def has_sidecar(self, report_id: str, kind: Kind) -> bool:
        """Return True if the profiled program left a file of this kind beside the report."""

    def has_answer(self, report_id: str, name: str) -> bool:
        """Return True if the analysis has a row for the report."""

    def has_run(self, report_id: str) -> bool:
        """Return True if the report is of a run on several GPUs."""


@dataclass(frozen=True)
class View:
    """A page of a report.

    Args:
        title: its title, which makes its address and folder, too.
        group: its group in the menu.
        subject: the reports it shows; None: every kind.
        icon: its icon.
        listed: whether the menu has it.
        selects: whether it shows the selection; other pages show the whole report.
        tables: it is empty, and gray in the menu, if none of these has a row; without them, if the report lacks what
            each analysis of the page needs.
        lack: why it is empty, as the end of a sentence.
        sidecar: file beside the report that it shows.
        answer: analysis that has a row if the report has the data of the page.
        run: whether it shows the run on several GPUs that the report belongs to.
        former_urls: its former addresses, which redirect.
        across: whether it shows all reports of the library, and works without any.
    """

    title: str
    group: str
    subject: Subject | None
    icon: str
    listed: bool = True
    selects: bool = True
    tables: tuple[str, ...] = ()
    lack: str = ""
    sidecar: Kind | None = None
    answer: str = ""
    run: bool = False
    former_urls: tuple[str, ...] = ()
    across: bool = False

    def fits(self, manifest: Manifest) -> bool:
        """Return True if the page can show reports of this kind."""
        return self.subject is None or self.subject in manifest.subjects

    def find_lack(self, manifest: Manifest, report_data: ReportData) -> str:
        """Return what the report lacks for this page, such as "no GPU kernels"; empty if the page has data to show."""
        if not self.fits(manifest):
            return _SUBJECT_LACKS[self.subject] if self.subject else ""
        if self.sidecar:
            return "" if report_data.has_sidecar(manifest.id, self.sidecar) else self.lack
        if self.run:
            return "" if report_data.has_run(manifest.id) else self.lack
        has_data = self._has_rows(manifest) and (not self.answer or report_data.has_answer(manifest.id, self.answer))
        return "" if has_data else self.lack

    def _has_rows(self, manifest: Manifest) -> bool:
        if not manifest.rows or not (self.lack or self.answer):
            return True
        if self.tables:
            return any(map(manifest.rows.get, self.tables))
        analyses = [
            entry for entry in header.list_analyses().values() if self.answer == entry.name or self.url == entry.page
        ]
        return any(all(any(map(manifest.rows.get, tables)) for tables in entry.needs) for entry in analyses)

    @property
    def for_guests(self) -> bool:
        """Return True if a sharing link opens the page: it shows a single report, and runs no SQL of the visitor."""
        return not self.across and self.group not in (COMPARE, DATA)

    @property
    def url(self) -> str:
        """Address below that of the dashboard, and folder in ``views``."""
        return self.title.lower().replace(" ", "_")

    @property
    def path(self) -> Path:
        """Path of the script."""
        return FOLDER / self.url / "page.py"


VIEWS = (
    View("Summary", MAIN, TIMELINE, ":material/dashboard:", former_urls=("overview",)),
    View(
        "Timeline", MAIN, TIMELINE, ":material/view_timeline:",
        selects=False, tables=(*_WORK, *_OVER_TIME), lack="nothing to draw over time",
    ),
    View("Findings", MAIN, None, ":material/fact_check:"),
    View("Kernels", MAIN, TIMELINE, ":material/table_rows:", tables=_KERNELS, lack="no GPU kernels"),
    View(
        "Roofline by time", GPU, TIMELINE, ":material/show_chart:",
        tables=_KERNELS, lack="no GPU kernels", former_urls=("roofline_time",),
    ),
    View("Idle", GPU, TIMELINE, ":material/hourglass_empty:", lack="no GPU activity"),
    View(
        "Ranges", PROGRAM, TIMELINE, ":material/account_tree:",
        lack="no ranges (NVTX or annotations)", former_urls=("nvtx",),
    ),
    View(
        "Operators", PROGRAM, TIMELINE, ":material/schema:",
        tables=("operator",), lack="no operators of the PyTorch profiler",
    ),
    View(
        "Phases", PROGRAM, TIMELINE, ":material/stacked_bar_chart:",
        tables=_KERNELS, lack="no GPU kernels", former_urls=("split",),
    ),
    View(
        "Memory", PROGRAM, TIMELINE, ":material/swap_horiz:",
        tables=(*_GPU, "memory_event", "tensor_event"), lack="no GPU activity and no memory use",
    ),
    View("API", PROGRAM, TIMELINE, ":material/terminal:", lack="no CUDA or OS calls"),
    View(
        "Host", PROGRAM, TIMELINE, ":material/developer_board:",
        tables=("cpu_sample", "python_sample", "sched_event", "osrt_call", "openmp_event"),
        lack="no CPU samples, scheduling or OS calls",
    ),
    View(
        "Compare", COMPARE, TIMELINE, ":material/compare_arrows:",
        tables=_WORK, lack="nothing to compare: no GPU activity, calls or ranges",
    ),
    View("What if", COMPARE, TIMELINE, ":material/alt_route:", selects=False, tables=_GPU, lack="no GPU activity"),
    View("Scaling", COMPARE, TIMELINE, ":material/hub:", selects=False, tables=_KERNELS, lack="no GPU kernels"),
    View("Run", COMPARE, TIMELINE, ":material/grid_on:", selects=False, lack="no other ranks", run=True),
    View("Trends", COMPARE, None, ":material/trending_up:", selects=False, across=True),
    View(
        "Attention", SPECIAL, TIMELINE, ":material/grid_view:",
        lack="no ranges that name parts of attention", answer="attention_parts",
    ),
    View("Energy", SPECIAL, TIMELINE, ":material/bolt:", lack="no power log beside it", sidecar="power"),
    View(
        "CPU vs GPU", SPECIAL, TIMELINE, ":material/compare:",
        selects=False, lack="no task log beside it", sidecar="tasks", former_urls=("crossover", "cpu_gpu"),
    ),
    View(
        "Timer check", SPECIAL, TIMELINE, ":material/timer:",
        lack="no timings beside it", sidecar="timings", former_urls=("timings",),
    ),
    View(
        "Call paths", SPECIAL, TIMELINE, ":material/account_tree:",
        selects=False, tables=("path_sum",), lack="no sums by call path (proton)",
    ),
    View("Kernel", GPU, TIMELINE, ":material/memory:", listed=False),
    View("Kernel profiles", GPU, LAUNCHES, ":material/speed:", former_urls=("ncu",)),
    View("Roofline", GPU, LAUNCHES, ":material/show_chart:"),
    View("SQL", DATA, None, ":material/database:", selects=False),
)  # fmt: skip
"""All pages of reports; a report opens on the first that fits it."""

LIBRARY = FOLDER / "library" / "page.py"
ADMIN = FOLDER / "admin" / "page.py"
ADMIN_URL = "admin"


def get_view(url: str) -> View:
    """Return the page at this address."""
    return next(view for view in VIEWS if view.url == url)


def get_script(url: str) -> Path:
    """Return the script of the page at this address."""
    return get_view(url).path


def get_first_view(manifest: Manifest) -> View:
    """Return the page on which a report opens."""
    return next(view for view in VIEWS if view.subject in manifest.subjects)
