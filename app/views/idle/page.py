"""The Idle page: GPU idle gaps, launch latency and, if sampled, GPU metrics."""

from app import session
from app.ui import sections
from app.ui.sections import Section
from app.views.idle import code, gaps, launch, metrics


def page() -> None:
    shown = (
        Section("GPU idle", gaps.show),
        Section(code.CODE.title, code.show, loud=False),
        Section("Launch, queue and execution", launch.show),
        Section("GPU metrics", metrics.show, loud=False),
    )
    sections.show(session.report().id, shown)


page()
