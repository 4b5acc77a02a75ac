"""Overview of an nsys report: how busy the GPU was, what took the time, what the capture says and what it lacks."""

from app import session, ui
from app.views import overview_about, overview_gpu, overview_kernels, overview_notes, overview_tables, summary_button
from profiledb.errors import NotCapturedError


def page() -> None:
    """Draws the page."""
    manifest = session.report()
    ui.header(manifest, "Overview")
    overview_about.show(manifest.id)
    overview_notes.reading(manifest.id)
    summary_button.show(manifest)
    said = ""
    try:
        overview_gpu.show(manifest.id)
        overview_kernels.show(manifest)
    except NotCapturedError as error:
        ui.not_captured(error)
        said = "kernel"
    overview_tables.copies(manifest.id)
    overview_tables.ranges(manifest.id)
    overview_notes.diagnostics(manifest.id)
    overview_notes.lacks(manifest.id, said)


page()
