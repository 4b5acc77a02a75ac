"""Colors that pages and the timeline share: of CUDA calls by category, and of idle time by reason.

Found by a search for colors near one hue each, the same in both themes, that contrast 3:1 with the page, stay distinct
under color blindness, and differ from those of kernel classes.
"""

from typing import NamedTuple


class Pair(NamedTuple):
    """A color in the light and the dark theme, ``#RRGGBB``."""

    light: str
    dark: str


GROUND = Pair("#ffffff", "#13161b")
"""Background of pages."""
NEUTRAL = Pair("#8A929E", "#8B95A3")
"""Color of unspecific parts."""

ACTIVITIES = {
    "launch": Pair("#4868B8", "#90B0F0"),
    "synchronization": Pair("#B82820", "#D86858"),
    "blocking copy": Pair("#E07058", "#E09050"),
    "queued copy": Pair("#A87808", "#D8D060"),
    "allocation": Pair("#0090B0", "#58D0E8"),
    "host code": Pair("#7850D0", "#A888F0"),
    "OS runtime call": Pair("#508840", "#80C868"),
    "module loading": Pair("#B04890", "#E890C8"),
}
"""By category of ``api_categories``; idle time takes the color of the call that it ends in."""
_REASONS = {"launch call": "launch", "copy call": "blocking copy", "launch latency": "queued copy"}
"""Reasons of ``idle_reasons`` that have another name than their call."""


def get_activity_color(name: str) -> Pair:
    """Return the colors of a category of calls or a reason of idle time; neutral for unspecific ones."""
    return ACTIVITIES.get(_REASONS.get(name, name), NEUTRAL)


def mix(color: str, ground: str, share: float) -> str:
    """Mix a share of a color with a background, so that the contrast of text on it can be computed."""
    pairs = [(int(color[at : at + 2], 16), int(ground[at : at + 2], 16)) for at in (1, 3, 5)]
    return "#" + "".join(f"{round(share * mine + (1 - share) * other):02X}" for mine, other in pairs)


def fade(color: Pair, share: float) -> Pair:
    """Mix a color with the background of each theme."""
    return Pair(mix(color.light, GROUND.light, share), mix(color.dark, GROUND.dark, share))
