"""What a trace says of itself before and after its events: settings, GPUs, the distributed run."""

import json
from typing import Any

from ingest.torch.cutter import Cutter

_LIST = "[]"


def read(cutter: Cutter) -> tuple[dict[str, Any], bool]:
    """The keys of a trace but its events, and whether all of them could be read.

    Where the end is missing or damaged, the keys before the events are still there.
    """
    head, tail = (part.decode("utf-8", "replace") for part in (cutter.head, cutter.tail))
    head = head.lstrip("\ufeff")
    if head.strip() == "[":
        return {}, True
    texts = ([f"{head}]{tail}"] if cutter.closed else []) + [f"{head}]}}"]
    for text in texts:
        try:
            keys = json.loads(text, strict=False)
        except (ValueError, RecursionError):
            continue
        if isinstance(keys, dict):
            return keys, text is texts[0] and cutter.closed
    return {}, False


def whole(value: Any, most: int = (1 << 62)) -> int | None:
    """A number of a trace that should be a whole one, or None."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = int(value)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) <= most else None


def text(value: Any, most: int) -> str | None:
    """A text of a trace, or None where it is none; no longer than so many characters."""
    return value[:most] if isinstance(value, str) else None
