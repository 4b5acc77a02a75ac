"""Memory & copies: what copies reached of their link, which ones blocked the CPU, and GPU memory over time."""

from app import session
from app.ui import sections
from app.ui.sections import Section
from app.views.memory import copies, use
from profiledb.errors import NotCapturedError


def _copies(report_id: str) -> None:
    """A report with kernels and without copies has traced them: there were none."""
    try:
        copies.show(report_id)
    except NotCapturedError:
        if "kernel" in session.report().rows:
            raise NotCapturedError("No memcpy or memset ran on the GPU.") from None
        raise


def page() -> None:
    """Draws the page; what several sections lack is said once."""
    shown = (Section("Memcpy and memset", _copies), Section("GPU memory", use.show, loud=False))
    sections.show(session.report().id, shown)


page()
