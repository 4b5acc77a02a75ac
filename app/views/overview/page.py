"""Overview of an nsys report: how busy the GPU was, what took the time, what the capture says and what it lacks."""

from app import session
from app.ui import about, notes, summary_button
from app.ui import page as ui
from app.views.overview import found, gpu, kernels, statements, tables
from profiledb.errors import NotCapturedError


def page() -> None:
    """Draws the page."""
    manifest = session.report()
    statements.show(manifest.id, found.show(manifest))
    told = ""
    notes.reading(manifest.id)
    try:
        gpu.show(manifest.id)
        kernels.show(manifest)
    except NotCapturedError as error:
        ui.not_captured(error)
        told = "kernel"
        tables.calls(manifest.id)
    tables.copies(manifest.id)
    tables.ranges(manifest.id)
    notes.diagnostics(manifest.id)
    notes.lacks(manifest.id, told)
    about.show(manifest.id)
    summary_button.show(manifest)


page()
