"""Colors: the visitor's theme, and the fixed color of each kernel class in it."""

from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from app.ui import served_component
from app.ui.charts import GROUND, Theme
from profiledb import config
from profiledb.rules import classes, colors

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
"""Colors of devices and of the parts of their work, matching the colors of the workloads' NVTX ranges: CPU blue, GPU
and GPU compute green, transfers yellow and orange, allocation light blue, overhead (any other part) red. Based on the
Okabe-Ito palette, with blue, green and red shifted until the devices, and neighbors in a stack, stay distinguishable
under every form of color blindness."""

CATEGORIES: dict[Theme, tuple[str, ...]] = {
    "light": tuple(pair.light for pair in colors.ACTIVITIES.values()),
    "dark": tuple(pair.dark for pair in colors.ACTIVITIES.values()),
}
"""Colors of series without a class: metrics, precisions."""

_SHADE = "shade"
TINT: dict[Theme, float] = {"light": 0.25, "dark": 0.35}


def get_theme() -> Theme:
    """Return the theme that this visitor sees."""
    return "dark" if st.context.theme.type == "dark" else "light"


def follow() -> None:
    """Redraw the page when the visitor's theme changes, or the window becomes narrow or wide."""
    served_component.declare_component("shade")(
        key=_SHADE, data={"theme": get_theme(), "narrow": is_narrow()}, width="content", on_changed_change=_do_nothing,
        on_narrow_change=_do_nothing,
    )  # fmt: skip


def is_narrow() -> bool:
    """Return True if the visitor's window is narrow (1,000 px), which the browser says after the first run."""
    state: Any = st.session_state.get(_SHADE) or {}
    return bool(state.get("narrow"))


def _do_nothing() -> None:
    """Do nothing: the rerun that follows reads theme and width."""


def get_class_colors() -> dict[str, str]:
    """Return the color of each kernel class in this visitor's theme: ``#RRGGBB`` by class name."""
    return dict(_load_colors(config.load().classes, get_theme()))


def get_work_colors() -> dict[str, str]:
    """Return the colors of ``WORK`` in this visitor's theme."""
    return WORK[get_theme()]


def get_category_colors() -> list[str]:
    """Return the colors of ``CATEGORIES`` in this visitor's theme."""
    return list(CATEGORIES[get_theme()])


def get_class_titles() -> dict[str, str]:
    """Return the display title of each kernel class, in stacking order of the charts."""
    return dict(_load_titles(config.load().classes))


def tint(color: str) -> str:
    """Mix a color with the page background, so that a column of colored names stays quiet.

    The result is opaque, so that the contrast of text on it is computed from the mixture.
    """
    return colors.mix(color, GROUND[get_theme()], TINT[get_theme()])


@cache
def _load_classes(override: Path | None) -> list[classes.KernelClass]:
    return classes.load(override)


@cache
def _load_colors(override: Path | None, chosen: Theme) -> dict[str, str]:
    return classes.get_colors(_load_classes(override), chosen)


@cache
def _load_titles(override: Path | None) -> dict[str, str]:
    return {one.name: one.title for one in _load_classes(override)}
