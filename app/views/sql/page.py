"""The SQL page: queries on the tables of a report."""

from app import session
from app.ui import page_elements as ui
from app.views.sql import answer_cache, editor, result, table_browser


def draw_page() -> None:
    manifest = session.report()
    question = editor.draw_editor(manifest)
    if question:
        with ui.boundary():
            result.draw_result(manifest, question, answer_cache.ask(manifest, question))
    table_browser.draw_tables(manifest)


draw_page()
