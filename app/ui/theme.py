"""Colors: the theme that the reader chose, and the fixed color of every kernel class in it."""

from functools import cache
from pathlib import Path

import streamlit as st

from app.ui import served_component
from app.ui.charts import GROUND, Theme
from profiledb import config
from profiledb.rules import classes

WORK: dict[Theme, dict[str, str]] = {
    "light": {
        "cpu": "#004C97", "gpu": "#1BAF7A", "allocate": "#56B4E9", "to_device": "#F0E442", "compute": "#1BAF7A",
        "to_host": "#E69F00", "overhead": "#B3261E",
    },
    "dark": {
        "cpu": "#3B82F6", "gpu": "#5BE7A9", "allocate": "#8ECDF5", "to_device": "#F0E442", "compute": "#5BE7A9",
        "to_host": "#E69F00", "overhead": "#CC3328",
    },
}  # fmt: skip
"""Devices and the parts of work on them, in the sense of the colors of the workloads' ranges: CPU blue, GPU and its
computing green, transfers yellow and orange, allocation light blue, overhead (any other part) red. From the scheme of
Okabe and Ito, blue, green and red moved until the devices, and neighbors in a stack, stay apart for every eye."""

CATEGORIES: dict[Theme, tuple[str, ...]] = {
    "light": ("#2396C0", "#8D73F0", "#105413", "#953273", "#480E26", "#D17858", "#5D239B", "#0E0C4E"),
    "dark": ("#73EDE9", "#9C9EF1", "#4CB48D", "#9541AA", "#CBCA81", "#C16C26", "#2D7447", "#E8B53D"),
}  # fmt: skip
"""What is no kernel class: categories of calls, reasons of idle time, directions of copies, metrics. Found by a search
for colors that stand out from the page (3:1), stay apart for every eye, and are none of those of kernel classes."""

TINT: dict[Theme, float] = {"light": 0.25, "dark": 0.35}


def theme() -> Theme:
    """The theme that this visitor sees."""
    return "dark" if st.context.theme.type == "dark" else "light"


def follow() -> None:
    """Has the page drawn again when the visitor's theme changes: by itself Streamlit leaves charts as they are."""
    served_component.component("shade")(
        key="shade", data={"theme": theme()}, width="content", on_changed_change=_changed
    )


def _changed() -> None:
    """The run that follows has the theme."""


def class_colors() -> dict[str, str]:
    """The color of each kernel class in this visitor's theme, ``#RRGGBB`` by the class's name."""
    return dict(_colors(config.load().classes, theme()))


def work_colors() -> dict[str, str]:
    """The colors of ``WORK`` in this visitor's theme."""
    return WORK[theme()]


def category_colors() -> list[str]:
    """The colors of ``CATEGORIES`` in this visitor's theme."""
    return list(CATEGORIES[theme()])


def class_titles() -> dict[str, str]:
    """What people read for each kernel class, in the order in which charts stack them."""
    return dict(_titles(config.load().classes))


def tint(color: str) -> str:
    """A color mixed with the page's background: behind a name, so that a column of them stays quiet.

    It is opaque, because what is drawn on it must be told from the mixture and not from the color itself.
    """
    ground, share = GROUND[theme()], TINT[theme()]
    mixed = [
        round(share * int(color[at : at + 2], 16) + (1 - share) * int(ground[at : at + 2], 16)) for at in (1, 3, 5)
    ]
    return "#" + "".join(f"{part:02X}" for part in mixed)


@cache
def _classes(override: Path | None) -> list[classes.KernelClass]:
    return classes.load(override)


@cache
def _colors(override: Path | None, chosen: Theme) -> dict[str, str]:
    return classes.colors(_classes(override), chosen)


@cache
def _titles(override: Path | None) -> dict[str, str]:
    return {one.name: one.title for one in _classes(override)}
