"""A crossover in words: from which size on to use the GPU, or why the measurement does not tell."""

from profiledb.studies.crossover.crossing import FEWEST, Crossover
from profiledb.words import count

BASES = {"total": "with transfers", "compute": "computing only"}
"""What people call the bases."""
_NAMES = {"cpu": "CPU", "gpu": "GPU"}


def advice(one: Crossover) -> str:
    """What to do, in one sentence; the least that a reader needs."""
    if one.state in ("one device", "nothing in common"):
        return why(one)
    if one.threshold is not None:
        only = ", perhaps earlier" if one.state == "always" and one.threshold == one.sizes[0] else ""
        return f"Use the GPU from {count(one.threshold)} on{only}."
    if one.state == "crossed":
        return "The repetitions scatter too much to say from which size on to use the GPU."
    if one.state == "back":
        return "There is no size from which on the GPU stays ahead."
    if one.state == "always":
        return "The GPU was faster at every size, but within the scatter."
    return f"Stay on the CPU, up to {count(one.sizes[-1])} at least."


def why(one: Crossover) -> str:
    """What was measured, one to three sentences."""
    if one.state == "one device":
        if not one.devices:
            return "Neither device was measured."
        return f"Only the {_NAMES[one.devices[0]]} was measured."
    if one.state == "nothing in common":
        return "CPU and GPU have no size in common at which both took time."
    return " ".join(part for part in (_found(one), _several(one), _sure(one)) if part)


def sentence(one: Crossover) -> str:
    """Both, for a line of text."""
    if one.state in ("one device", "nothing in common"):
        return why(one)
    return f"{advice(one)} {why(one)}"


def interval(one: Crossover) -> str:
    """The interval in short: 560 to 1,930, below 16, beyond 8,192; nothing where there is none."""
    if not one.low_place or not one.high_place:
        return ""
    if one.low_place == one.high_place != "inside":
        return _end(one.low, one.low_place, one)
    return f"{_end(one.low, one.low_place, one)} to {_end(one.high, one.high_place, one)}"


def crossing(one: Crossover) -> str:
    """Where the crossing is in short: 834, below 16, beyond 8,192; nothing where that is not known."""
    if one.crossing is not None:
        return count(one.crossing)
    if not one.sizes or one.state == "back":
        return ""
    return _end(None, "below" if one.state == "always" else "above", one)


def _found(one: Crossover) -> str:
    if one.state == "crossed":
        return f"By the medians the GPU is faster from about {count(one.crossing)} on."
    if len(one.sizes) == 1:
        who = "GPU was" if one.state == "always" else "GPU was not"
        return f"The {who} faster at {count(one.sizes[0])}, the only size measured on both."
    if one.state == "always":
        return f"The GPU was faster at every size measured: it crosses below {count(one.sizes[0])}, if anywhere."
    if one.state == "back":
        return f"The GPU was faster at some sizes, but not at the largest, {count(one.sizes[-1])}."
    return f"The GPU was faster at no size measured: it crosses beyond {count(one.sizes[-1])}, if anywhere."


def _several(one: Crossover) -> str:
    if one.crossings < 2:
        return ""
    last = "; this is the last" if one.state == "crossed" else ""
    return f"The faster one changes {count(one.crossings)} times from size to size{last}."


def _sure(one: Crossover) -> str:
    if shown := interval(one):
        return f"95 % interval: {shown}."
    many = "one repetition" if one.repetitions == 1 else f"{count(one.repetitions)} repetitions"
    return f"No interval: some size has {many} only, and it takes {FEWEST}."


def _end(size: float | None, place: str, one: Crossover) -> str:
    if size is not None:
        return count(size)
    return f"below {count(one.sizes[0])}" if place == "below" else f"beyond {count(one.sizes[-1])}"
