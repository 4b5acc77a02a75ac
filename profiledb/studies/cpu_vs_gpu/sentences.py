"""A crossover in words: the size from which to use the GPU, or why the measurement does not tell."""

from profiledb.studies.cpu_vs_gpu.crossing import FEWEST, Crossover
from profiledb.words import count

BASES = {"total": "with transfers", "compute": "computing only"}
"""Titles of the bases."""
_NAMES = {"cpu": "CPU", "gpu": "GPU"}


def recommend(crossover: Crossover) -> str:
    """Return the recommendation in one sentence."""
    if crossover.state in ("one device", "nothing in common"):
        return describe_measurement(crossover)
    if crossover.threshold is not None:
        only = ", perhaps earlier" if crossover.state == "always" and crossover.threshold == crossover.sizes[0] else ""
        return f"Use the GPU from {count(crossover.threshold)} on{only}."
    if crossover.state == "crossed":
        return "The repetitions scatter too much to recommend a size for the GPU."
    if crossover.state == "back":
        return "The GPU stays ahead from no size on."
    if crossover.state == "always":
        return "The GPU was faster at every size, but only within the scatter."
    return f"Use the CPU for all measured sizes (up to {count(crossover.sizes[-1])})."


def describe_measurement(crossover: Crossover) -> str:
    """Describe the measurement in one to three sentences."""
    if crossover.state == "one device":
        if not crossover.devices:
            return "Neither device was measured."
        return f"Only the {_NAMES[crossover.devices[0]]} was measured."
    if crossover.state == "nothing in common":
        return "CPU and GPU have no measured size in common."
    return " ".join(
        part
        for part in (_describe_crossing(crossover), _describe_several(crossover), _describe_interval(crossover))
        if part
    )


def describe_crossover(crossover: Crossover) -> str:
    """Return recommendation and description in one line."""
    if crossover.state in ("one device", "nothing in common"):
        return describe_measurement(crossover)
    return f"{recommend(crossover)} {describe_measurement(crossover)}"


def format_interval(crossover: Crossover) -> str:
    """Format the interval in short: 560 to 1,930, below 16, beyond 8,192; empty without one."""
    if not crossover.low_place or not crossover.high_place:
        return ""
    if crossover.low_place == crossover.high_place != "inside":
        return _format_end(crossover.low, crossover.low_place, crossover)
    low = _format_end(crossover.low, crossover.low_place, crossover)
    return f"{low} to {_format_end(crossover.high, crossover.high_place, crossover)}"


def format_crossing(crossover: Crossover) -> str:
    """Format the crossing in short: 834, below 16, beyond 8,192; empty if it is unknown."""
    if crossover.crossing is not None:
        return count(crossover.crossing)
    if not crossover.sizes or crossover.state == "back":
        return ""
    return _format_end(None, "below" if crossover.state == "always" else "above", crossover)


def _describe_crossing(crossover: Crossover) -> str:
    if crossover.state == "crossed":
        return f"By medians, the GPU is faster from about {count(crossover.crossing)} on."
    if len(crossover.sizes) == 1:
        who = "GPU was" if crossover.state == "always" else "GPU was not"
        return f"The {who} faster at {count(crossover.sizes[0])}, the only size measured on both."
    if crossover.state == "always":
        return f"The GPU was faster at every measured size; any crossing is below {count(crossover.sizes[0])}."
    if crossover.state == "back":
        return f"The GPU was faster at some sizes, but not at the largest, {count(crossover.sizes[-1])}."
    return f"The GPU was faster at no measured size; any crossing is beyond {count(crossover.sizes[-1])}."


def _describe_several(crossover: Crossover) -> str:
    if crossover.crossings < 2:
        return ""
    last = "; this is the last" if crossover.state == "crossed" else ""
    return f"The faster device changes {count(crossover.crossings)} times from size to size{last}."


def _describe_interval(crossover: Crossover) -> str:
    if shown := format_interval(crossover):
        return f"95 % interval: {shown}."
    many = "one repetition" if crossover.repetitions == 1 else f"{count(crossover.repetitions)} repetitions"
    return f"No interval: some size has only {many}, and {FEWEST} are needed."


def _format_end(size: float | None, place: str, crossover: Crossover) -> str:
    if size is not None:
        return count(size)
    return f"below {count(crossover.sizes[0])}" if place == "below" else f"beyond {count(crossover.sizes[-1])}"
