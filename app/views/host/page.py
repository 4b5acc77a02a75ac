"""The Host page: the code that the CPU ran, what its threads waited for, and where GPU work was launched."""

from app import session
from app.ui import sections
from app.ui.sections import Part, Section
from app.views.host import launches, openmp, samples, threads


def draw_page() -> None:
    report = session.report()
    shown: tuple[Part, ...] = (
        Section("CPU samples", samples.draw_samples),
        threads.THREADS,
        *([openmp.REGIONS] if report.rows.get("openmp_event") else []),
        threads.OS_RUNTIME,
        Section("Where GPU work is launched", launches.draw_launches, loud=False),
    )
    sections.draw_sections(report.id, shown)


draw_page()
