"""Memory: memory of tensors and their allocator, what copies reached of their link, GPU memory over time."""

from app import session
from app.ui import sections
from app.ui.sections import Section
from app.views.memory import copies, gpu_memory, segments, tensors
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
    """Draws the page; what several sections lack is said once. Operators are whose tensors hold memory."""
    report = session.report()
    of_operators = any(map(report.rows.get, ("operator", "tensor_event")))
    if report.rows.get("tensor_segment"):  # a memory snapshot knows nothing else
        sections.show(report.id, (Section(tensors.TITLE, tensors.show), Section(segments.TITLE, segments.show)))
        return
    held = (
        []
        if of_operators and not report.rows.get("memory_event")
        else [Section("GPU memory", gpu_memory.show, loud=False)]
    )
    of_tensors = [Section(tensors.TITLE, tensors.show, loud=False)] if of_operators else []
    sections.show(report.id, (*of_tensors, Section("Memcpy and memset", _copies), *held))


page()
