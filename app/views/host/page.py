"""The Host page: the code that the CPU ran, what its threads waited for, and where GPU work was launched."""

from app import session
from app.ui import sections
from app.ui.sections import Part, Section
from app.views.host import launches, openmp, samples, threads


def page() -> None:
    report = session.report()
    shown: tuple[Part, ...] = (
        Section("CPU samples", samples.show),
        threads.THREADS,
        *([openmp.REGIONS] if report.rows.get("openmp_event") else []),
        threads.OS_RUNTIME,
        Section("Where GPU work is launched", launches.show, loud=False),
    )
    sections.show(report.id, shown)


page()
