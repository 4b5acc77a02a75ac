"""The pages: scripts that Streamlit runs from top to bottom, one each, and their parts."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class View:
    """A page of a report: its address (and module), its title, the kind of report it shows.

    ``listed``: in the menu. ``selects``: it shows the part of the report that is selected; others show the whole.
    """

    url: str
    title: str
    kind: str
    icon: str
    listed: bool = True
    selects: bool = True

    @property
    def path(self) -> Path:
        """The script."""
        return Path(__file__).with_name(f"{self.url}.py")


VIEWS = (
    View("overview", "Overview", "nsys", ":material/dashboard:"),
    View("kernels", "Kernels", "nsys", ":material/table_rows:"),
    View("nvtx", "Ranges", "nsys", ":material/account_tree:"),
    View("memory", "Memory & API", "nsys", ":material/swap_horiz:"),
    View("split", "Split", "nsys", ":material/stacked_bar_chart:"),
    View("attention", "Attention", "nsys", ":material/grid_view:"),
    View("timings", "Timings", "nsys", ":material/timer:"),
    View("crossover", "Crossover", "nsys", ":material/compare:", selects=False),
    View("energy", "Energy", "nsys", ":material/bolt:"),
    View("roofline_time", "Roofline", "nsys", ":material/show_chart:"),
    View("compare", "Compare", "nsys", ":material/compare_arrows:"),
    View("scaling", "Scaling", "nsys", ":material/hub:", selects=False),
    View("kernel", "Kernel", "nsys", ":material/memory:", listed=False),
    View("ncu", "Kernel profiles", "ncu", ":material/speed:"),
    View("roofline", "Roofline", "ncu", ":material/show_chart:"),
)
"""Every page of a report; the first of a kind is the one that opens."""

LIBRARY = Path(__file__).with_name("library.py")


def first(kind: str) -> View | None:
    """The page on which a report of this kind opens."""
    return next((view for view in VIEWS if view.kind == kind), None)
