"""SQL: questions of one's own to the tables of a report."""

from app import session
from app.ui import page as ui
from app.views.sql import asked, browser, editor, result


def page() -> None:
    """Draws the page."""
    manifest = session.report()
    question = editor.show(manifest)
    if question:
        with ui.boundary():
            result.show(manifest, question, asked.ask(manifest, question))
    browser.show(manifest)


page()
