"""The Memory page: tensors and their allocator, bandwidth of copies, and GPU memory over time."""

from app import session
from app.ui import sections
from app.ui.sections import Section
from app.views.memory import copies, gpu_memory, segments, tensors
from profiledb.errors import NotCapturedError


def _draw_copies(report_id: str) -> None:
    """Draw the copies; if the report has kernels but no copies, say that none ran: they were traced."""
    try:
        copies.draw_copies(report_id)
    except NotCapturedError:
        if "kernel" in session.report().rows:
            raise NotCapturedError("No memcpy or memset ran on the GPU.") from None
        raise


def draw_page() -> None:
    """Draw the page; mention data that sections lack only once. Reports with operators also show tensor memory."""
    report = session.report()
    of_operators = any(map(report.rows.get, ("operator", "tensor_event")))
    if report.rows.get("tensor_segment"):  # a memory snapshot holds nothing else
        sections.draw_sections(
            report.id, (Section(tensors.TITLE, tensors.draw_tensors), Section(segments.TITLE, segments.draw_segments))
        )
        return
    held = (
        []
        if of_operators and not report.rows.get("memory_event")
        else [Section("GPU memory", gpu_memory.draw_memory, loud=False)]
    )
    of_tensors = [Section(tensors.TITLE, tensors.draw_tensors, loud=False)] if of_operators else []
    sections.draw_sections(report.id, (*of_tensors, Section("Memcpy and memset", _draw_copies), *held))


draw_page()
