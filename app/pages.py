"""Which pages there are: a line each. Their scripts stand in ``views``, a folder a page."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from profiledb.report.catalog import LAUNCHES, TIMELINE, Manifest, Subject
from profiledb.report.sidecar import Kind

FOLDER = Path(__file__).with_name("views")
_KERNELS = ("kernel", "graph_launch")
_GPU = (*_KERNELS, "memop")
_WORK = (*_GPU, "api_call", "range")


@dataclass(frozen=True)
class View:
    """A page of a report: its address, its title, what of a report it shows, its script below ``views``.

    ``listed``: in the menu. ``selects``: it shows the part of the report that is selected; others show the whole.
    ``tables``: what it shows comes from these; where none of them has a row, nor a file beside the report of the kind
    ``beside`` is there, the page holds nothing and is not offered. Without any it always is.
    """

    url: str
    title: str
    subject: Subject
    icon: str
    script: str
    listed: bool = True
    selects: bool = True
    tables: tuple[str, ...] = ()
    beside: Kind | None = None

    def fits(self, manifest: Manifest) -> bool:
        """Whether the report has what the page shows."""
        return self.subject in manifest.subjects

    def offers(self, manifest: Manifest, has_sidecar: Callable[[str, Kind], bool]) -> bool:
        """Whether the menu offers the page for a report; a page of the report's address says itself what it lacks."""
        if not (self.listed and self.fits(manifest)):
            return False
        if not self.tables or not manifest.rows or any(map(manifest.rows.get, self.tables)):
            return True
        return self.beside is not None and has_sidecar(manifest.id, self.beside)

    @property
    def path(self) -> Path:
        """The script."""
        return FOLDER / self.script


VIEWS = (
    View("overview", "Overview", TIMELINE, ":material/dashboard:", "overview/page.py"),
    View("kernels", "Kernels", TIMELINE, ":material/table_rows:", "kernels/page.py", tables=_KERNELS),
    View("nvtx", "Ranges", TIMELINE, ":material/account_tree:", "ranges/page.py", tables=("range",)),
    View(
        "memory",
        "Memory & API",
        TIMELINE,
        ":material/swap_horiz:",
        "memory/page.py",
        tables=(*_GPU, "api_call", "osrt_call", "memory_event", "gpu_metric"),
    ),
    View("split", "Split", TIMELINE, ":material/stacked_bar_chart:", "split/page.py", tables=_KERNELS),
    View("attention", "Attention", TIMELINE, ":material/grid_view:", "attention/page.py", tables=(*_KERNELS, "range")),
    View("timings", "Timings", TIMELINE, ":material/timer:", "timings/page.py", tables=("range",)),
    View(
        "crossover",
        "Crossover",
        TIMELINE,
        ":material/compare:",
        "crossover/page.py",
        selects=False,
        tables=_WORK,
        beside="tasks",
    ),
    View("energy", "Energy", TIMELINE, ":material/bolt:", "energy/page.py", tables=(*_GPU, "range"), beside="power"),
    View("roofline_time", "Roofline", TIMELINE, ":material/show_chart:", "roofline/over_time.py", tables=_KERNELS),
    View("compare", "Compare", TIMELINE, ":material/compare_arrows:", "compare/page.py", tables=_WORK),
    View("scaling", "Scaling", TIMELINE, ":material/hub:", "scaling/page.py", selects=False, tables=_KERNELS),
    View("kernel", "Kernel", TIMELINE, ":material/memory:", "kernels/kernel.py", listed=False),
    View("ncu", "Kernel profiles", LAUNCHES, ":material/speed:", "profiles/page.py"),
    View("roofline", "Roofline", LAUNCHES, ":material/show_chart:", "roofline/page.py"),
)
"""Every page of a report; the first that fits is the one that opens."""

LIBRARY = FOLDER / "library" / "page.py"


def script(url: str) -> Path:
    """The script of the page at this address."""
    return next(view.path for view in VIEWS if view.url == url)


def first(manifest: Manifest) -> View:
    """The page on which a report opens."""
    return next(view for view in VIEWS if view.fits(manifest))
