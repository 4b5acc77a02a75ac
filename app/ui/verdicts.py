"""The verdicts of the speed of light, and the colour that each keeps on every page."""

COLORS = {
    "memory bound": "#0072B2",
    "compute bound": "#E69F00",
    "high throughput": "#46A394",
    "balanced": "#7DAFE1",
    "latency bound": "#B5569B",
    "small grid": "#E84B5F",
}
UNKNOWN_COLOR = "#9A9A9A"
UNKNOWN = "no verdict"


def title(verdict: object) -> str:
    """A verdict of an analysis in words."""
    return verdict if isinstance(verdict, str) else UNKNOWN


def color(verdict: object) -> str:
    """The colour of a verdict."""
    return COLORS.get(title(verdict), UNKNOWN_COLOR)
