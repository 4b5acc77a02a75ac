"""Which pages there are: a line each. Their scripts stand in ``views``, a folder a page."""

from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).with_name("views")


@dataclass(frozen=True)
class View:
    """A page of a report: its address, its title, the kind of report it shows, its script below ``views``.

    ``listed``: in the menu. ``selects``: it shows the part of the report that is selected; others show the whole.
    """

    url: str
    title: str
    kind: str
    icon: str
    script: str
    listed: bool = True
    selects: bool = True

    @property
    def path(self) -> Path:
        """The script."""
        return FOLDER / self.script


VIEWS = (
    View("overview", "Overview", "nsys", ":material/dashboard:", "overview/page.py"),
    View("kernels", "Kernels", "nsys", ":material/table_rows:", "kernels/page.py"),
    View("nvtx", "Ranges", "nsys", ":material/account_tree:", "ranges/page.py"),
    View("memory", "Memory & API", "nsys", ":material/swap_horiz:", "memory/page.py"),
    View("split", "Split", "nsys", ":material/stacked_bar_chart:", "split/page.py"),
    View("attention", "Attention", "nsys", ":material/grid_view:", "attention/page.py"),
    View("timings", "Timings", "nsys", ":material/timer:", "timings/page.py"),
    View("crossover", "Crossover", "nsys", ":material/compare:", "crossover/page.py", selects=False),
    View("energy", "Energy", "nsys", ":material/bolt:", "energy/page.py"),
    View("roofline_time", "Roofline", "nsys", ":material/show_chart:", "roofline/over_time.py"),
    View("compare", "Compare", "nsys", ":material/compare_arrows:", "compare/page.py"),
    View("scaling", "Scaling", "nsys", ":material/hub:", "scaling/page.py", selects=False),
    View("kernel", "Kernel", "nsys", ":material/memory:", "kernels/kernel.py", listed=False),
    View("ncu", "Kernel profiles", "ncu", ":material/speed:", "profiles/page.py"),
    View("roofline", "Roofline", "ncu", ":material/show_chart:", "roofline/page.py"),
)
"""Every page of a report; the first of a kind is the one that opens."""

LIBRARY = FOLDER / "library" / "page.py"


def script(url: str) -> Path:
    """The script of the page at this address."""
    return next(view.path for view in VIEWS if view.url == url)


def first(kind: str) -> View | None:
    """The page on which a report of this kind opens."""
    return next((view for view in VIEWS if view.kind == kind), None)
