"""The Idle page: GPU idle gaps, launch latency and, if sampled, GPU metrics."""

from app import session
from app.ui import sections
from app.ui.sections import Section
from app.views.idle import code, gaps, launch, metrics


def draw_page() -> None:
    shown = (
        Section("GPU idle", gaps.draw_gaps),
        Section(code.CODE.title, code.draw_code, loud=False),
        Section("Launch, queue and execution", launch.draw_launches),
        Section("GPU metrics", metrics.draw_metrics, loud=False),
    )
    sections.draw_sections(session.report().id, shown)


draw_page()
