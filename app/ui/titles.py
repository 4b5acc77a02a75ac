"""What lists of reports call each of them."""

from collections import Counter
from collections.abc import Mapping

from app.ui import format as fmt
from profiledb.report.catalog import Manifest


def titles(reports: Mapping[str, Manifest], own: str = "") -> dict[str, str]:
    """A title a report, by id, each unlike the others: name, GPU and moment, and the begin of the id where those agree.

    Args:
        reports: the reports of the list by id.
        own: id of the page's report, which is marked as such.
    """
    plain = {key: _title(manifest, own) for key, manifest in reports.items()}
    number = Counter(plain.values())
    # Streamlit tells options apart by what they are called
    return {key: f"{title}  ·  {key[:8]}" if number[title] > 1 else title for key, title in plain.items()}


def _title(manifest: Manifest, own: str) -> str:
    when = fmt.when(manifest.captured_at) if manifest.captured_at else None
    parts = [manifest.name, "this report" if manifest.id == own else None, manifest.gpu, when]
    return "  ·  ".join(fmt.visible(part) for part in parts if part)
