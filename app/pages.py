"""Which pages there are: a line each. Their scripts stand in ``views``, a folder a page."""

from dataclasses import dataclass
from pathlib import Path

from profiledb.report.catalog import LAUNCHES, TIMELINE, Manifest, Subject

FOLDER = Path(__file__).with_name("views")


@dataclass(frozen=True)
class View:
    """A page of a report: its address, its title, what of a report it shows, its script below ``views``.

    ``listed``: in the menu. ``selects``: it shows the part of the report that is selected; others show the whole.
    """

    url: str
    title: str
    subject: Subject
    icon: str
    script: str
    listed: bool = True
    selects: bool = True

    def fits(self, manifest: Manifest) -> bool:
        """Whether the report has what the page shows."""
        return self.subject in manifest.subjects

    @property
    def path(self) -> Path:
        """The script."""
        return FOLDER / self.script


VIEWS = (
    View("overview", "Overview", TIMELINE, ":material/dashboard:", "overview/page.py"),
    View("kernels", "Kernels", TIMELINE, ":material/table_rows:", "kernels/page.py"),
    View("nvtx", "Ranges", TIMELINE, ":material/account_tree:", "ranges/page.py"),
    View("memory", "Memory & API", TIMELINE, ":material/swap_horiz:", "memory/page.py"),
    View("split", "Split", TIMELINE, ":material/stacked_bar_chart:", "split/page.py"),
    View("attention", "Attention", TIMELINE, ":material/grid_view:", "attention/page.py"),
    View("timings", "Timings", TIMELINE, ":material/timer:", "timings/page.py"),
    View("crossover", "Crossover", TIMELINE, ":material/compare:", "crossover/page.py", selects=False),
    View("energy", "Energy", TIMELINE, ":material/bolt:", "energy/page.py"),
    View("roofline_time", "Roofline", TIMELINE, ":material/show_chart:", "roofline/over_time.py"),
    View("compare", "Compare", TIMELINE, ":material/compare_arrows:", "compare/page.py"),
    View("scaling", "Scaling", TIMELINE, ":material/hub:", "scaling/page.py", selects=False),
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
