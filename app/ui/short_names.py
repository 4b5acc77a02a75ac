"""Cut long names so that different names stay different."""

from collections import defaultdict
from collections.abc import Iterable

from app.ui import format as fmt

_LEAST = 8
"""Characters below which cutting is no use: shorter names are told apart by a number."""
_CONTEXT = 10
"""Most characters kept before the first difference, so that it does not begin within a word."""
_ELLIPSIS = "…"


def tell_apart(names: Iterable[str], most: int) -> dict[str, str]:
    """Return each name in at most ``most`` characters: cut in the middle or, where two would look alike, before the
    part that differs."""
    every = list(dict.fromkeys(names))
    groups = defaultdict(list)
    for name in every:
        groups[fmt.shortened(name, most)].append(name)
    short: dict[str, str] = {}
    for text, group in groups.items():
        short.update({group[0]: text} if len(group) == 1 else _tell_group_apart(group, most))
    return _number_equal_names(short, most)


def find_differences(names: Iterable[str], most: int) -> dict[str, str]:
    """Return the part of each name between the common beginning and end of all, at most ``most`` characters long."""
    every = list(dict.fromkeys(names))
    start = _count_shared(every)
    end = _count_shared([name[start:][::-1] for name in every])
    cores = {name: name[start : len(name) - end] for name in every}
    short = tell_apart(cores.values(), most)
    return {name: short[core] for name, core in cores.items()}


def _count_shared(names: list[str]) -> int:
    """Return how many characters all names begin with, up to the last end of a word that is near."""
    first, last = min(names), max(names)
    same = next((at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    ends = (same - back for back in range(min(_CONTEXT, same)) if not first[same - back - 1].isalnum())
    return next(ends, 0 if same < _CONTEXT else same)


def _tell_group_apart(group: list[str], most: int) -> dict[str, str]:
    """Cut names that look alike once their middle is cut: shorten their common beginning and keep the rest."""
    shared, head = _count_shared(group), group[0][: most // 3]
    room = most - len(head) - len(_ELLIPSIS)
    if room < _LEAST or shared <= len(head):
        return {name: fmt.shortened(name, most) for name in group}
    rests = tell_apart([name[shared:] for name in group], room)
    return {name: f"{head}{_ELLIPSIS}{rests[name[shared:]]}" for name in group}


def _number_equal_names(short: dict[str, str], most: int) -> dict[str, str]:
    """Number the names that still look alike."""
    seen: dict[str, int] = defaultdict(int)
    numbered = {}
    for name, text in short.items():
        seen[text] += 1
        count = f" #{seen[text]}"
        numbered[name] = text if seen[text] == 1 else fmt.shortened(text, max(most - len(count), 1)) + count
    return numbered
