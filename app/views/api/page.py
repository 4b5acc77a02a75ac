"""The API page: CUDA calls and OS runtime calls."""

from app import session
from app.ui import sections
from app.ui.sections import Section
from app.views.api import calls


def draw_page() -> None:
    sections.draw_sections(session.report().id, (Section(calls.CUDA.title, calls.draw_calls), calls.OS_RUNTIME))


draw_page()
