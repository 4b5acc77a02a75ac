"""Titles of reports in lists."""

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache

from app.ui import format as fmt
from profiledb.library.catalog import Manifest


def make_titles(reports: Mapping[str, Manifest], own: str = "") -> dict[str, str]:
    """Return a unique title per report id: name, GPU and capture time, plus the start of the id where those coincide.

    Args:
        reports: the listed reports by id.
        own: id of the page's report, which is marked as such.
    """
    entries = tuple((key, one.shown_name, one.gpu, one.captured_at) for key, one in reports.items())
    return dict(_number_titles(entries, own))


@lru_cache(maxsize=16)  # the lists of a page, and its reruns, contain the same reports
def _number_titles(entries: tuple[tuple[str, str, str | None, str | None], ...], own: str) -> dict[str, str]:
    plain = {key: _join_title(name, gpu, captured, this=key == own) for key, name, gpu, captured in entries}
    number = Counter(plain.values())
    # Streamlit identifies options by their text.
    return {key: f"{title}  ·  {key[:8]}" if number[title] > 1 else title for key, title in plain.items()}


@lru_cache(maxsize=4096)  # each session keeps the titles of its lists, so that they share the texts
def _join_title(name: str, gpu: str | None, captured: str | None, *, this: bool) -> str:
    when = fmt.when(captured) if captured else None
    parts = [name, "this report" if this else None, gpu, when]
    return "  ·  ".join(fmt.visible(part) for part in parts if part)
