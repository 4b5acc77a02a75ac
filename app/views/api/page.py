"""API: calls into CUDA and into the operating system."""

from app import session
from app.ui import sections
from app.ui.sections import Section
from app.views.api import calls


def page() -> None:
    """Draws the page."""
    shown = (Section("CUDA API calls", calls.show), Section("OS runtime calls", calls.os_runtime, loud=False))
    sections.show(session.report().id, shown)


page()
