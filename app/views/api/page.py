"""The API page: CUDA calls and OS runtime calls."""

from app import session
from app.ui import sections
from app.ui.sections import Section
from app.views.api import calls


def page() -> None:
    sections.show(session.report().id, (Section(calls.CUDA.title, calls.show), calls.OS_RUNTIME))


page()
