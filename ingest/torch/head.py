"""Read a trace's facts before and after its events: settings, GPUs, the distributed run."""

import json
from typing import Any

from ingest.torch.cutter import Cutter


def read_head(cutter: Cutter) -> tuple[dict[str, Any], bool]:
    """Return the keys of a trace except its events, and whether all of them could be read.

    If the end is missing or damaged, the keys before the events remain.
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


def parse_whole_number(value: Any, most: int = (1 << 62)) -> int | None:
    """Return an integer of a trace, or None if the value is not one."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = int(value)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) <= most else None


def parse_text(value: Any, most: int) -> str | None:
    """Return a text of a trace, cut at a maximum length, or None if the value is no text."""
    return value[:most] if isinstance(value, str) else None
