"""The query editor: write a question, start from an example, or open a saved question, which the URL then names."""

from collections.abc import Mapping, Sequence

import streamlit as st

from app import session
from app.ui import format as fmt
from app.web import access
from profiledb.console import table_list
from profiledb.console.question_limits import LONGEST
from profiledb.console.saved_questions import LONGEST_NAME, Question, open_questions
from profiledb.errors import AnalysisError
from profiledb.library.catalog import Manifest

ADDRESS = "question"
"""Query parameter that names a saved question."""

_TEXT, _ASKED, _OPENED, _SUBJECT = "sql-text", "sql-asked", "sql-opened", "sql-about"
_FIRST = "SHOW TABLES"
_HEIGHT_PX = 190
_ONE, _ALL = _ABOUT = ("This report", "All reports")
_SEES = {
    _ONE: "One SELECT, read only, on the tables below. It sees the whole report: the selection and “Exclude warm-up” do"
    " not change its answer.",
    _ALL: "One SELECT, read only. `library_summary` and `library_measure` hold a summary of every report that you may"
    " see, as soon as Trends has it; the tables below are those of this report. The selection does not change the"
    " answer.",
}
"""The tables that a question can read, by its subject."""


def draw_editor(manifest: Manifest) -> str:
    """Draw the editor and return the question that was run last; "" if none was."""
    _fill_editor(open_questions(session.library()).get(st.query_params.get(ADDRESS, "")))
    examples = {_ONE: table_list.list_examples(manifest), _ALL: table_list.list_library_examples()}
    st.session_state.setdefault(_TEXT, examples[_ONE][0].sql if examples[_ONE] else _FIRST)
    about = st.segmented_control(
        "Question about", _ABOUT, default=_ONE, required=True, key=_SUBJECT, on_change=_change_subject, args=(examples,)
    )
    _draw_choices(manifest, examples[about or _ONE])
    st.text_area("Question", key=_TEXT, height=_HEIGHT_PX, max_chars=LONGEST, label_visibility="collapsed")
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("Run", type="primary", icon=":material/play_arrow:", on_click=_ask_question, key="sql-run")
        if access.may_edit():
            _draw_save_form()
    st.caption(_SEES[about or _ONE])
    return str(st.session_state.get(_ASKED, ""))


def _fill_editor(question: Question | None) -> None:
    """Load and run the saved question that the URL names, once per URL."""
    named = question.id if question else ""
    if st.session_state.get(_OPENED) != named:
        st.session_state[_OPENED] = named
        if question:
            st.session_state[_TEXT] = st.session_state[_ASKED] = question.sql
            st.session_state["sql-name"] = question.name


def _ask_question() -> None:
    st.session_state[_ASKED] = st.session_state[_TEXT]


def _change_subject(examples: Mapping[str, Sequence[table_list.Example]]) -> None:
    """Show and run the first example about the new subject, unless the visitor wrote a question."""
    untouched = {_FIRST} | {one.sql for every in examples.values() for one in every}
    new = examples[st.session_state[_SUBJECT] or _ONE]
    if new and st.session_state[_TEXT] in untouched:
        _forget_question()
        st.session_state[_TEXT] = st.session_state[_ASKED] = new[0].sql


def _draw_choices(manifest: Manifest, examples: Sequence[table_list.Example]) -> None:
    titles = {one.title: one.sql for one in examples}
    questions = {one.id: one for one in open_questions(session.library()).all()}
    with st.container(horizontal=True):
        st.selectbox(
            "Examples", list(titles), index=None, key=f"sql-example-{manifest.id}", placeholder="Choose an example",
            on_change=_take_example, args=(manifest.id, titles),
        )  # fmt: skip
        st.selectbox(
            "Saved questions", list(questions), index=None, key="sql-kept", disabled=not questions,
            placeholder="Choose a saved question" if questions else "None yet",
            format_func=lambda one: fmt.visible(questions[one].name), on_change=_open_chosen_question,
        )  # fmt: skip


def _take_example(report_id: str, titles: dict[str, str]) -> None:
    if title := st.session_state[f"sql-example-{report_id}"]:
        _forget_question()
        st.session_state[_TEXT] = st.session_state[_ASKED] = titles[title]


def _open_chosen_question() -> None:
    if chosen := st.session_state["sql-kept"]:
        st.query_params[ADDRESS] = chosen
        st.session_state.pop(_OPENED, None)


def _forget_question() -> None:
    st.query_params.pop(ADDRESS, None)
    st.session_state[_OPENED] = ""
    st.session_state["sql-kept"] = None


def _draw_save_form() -> None:
    with st.popover("Save", icon=":material/bookmark:"):
        st.text_input("Name", key="sql-name", max_chars=LONGEST_NAME)
        st.caption("The address then names the question, and may be sent. A question of the same name is replaced.")
        st.button("Save question", on_click=_save_question, key="sql-keep")
        if st.query_params.get(ADDRESS):
            st.button("Remove this question", on_click=_remove_question, key="sql-remove", type="tertiary")


def _save_question() -> None:
    question = open_questions(session.open_for_changes()).keep(st.session_state["sql-name"], st.session_state[_TEXT])
    st.query_params[ADDRESS] = question.id
    st.session_state[_OPENED] = question.id
    st.toast(f"Saved as {fmt.plain(question.name)}.", icon=":material/check:")


def _remove_question() -> None:
    named = st.query_params.get(ADDRESS, "")
    questions = open_questions(session.open_for_changes())
    if questions.get(named) is None:
        raise AnalysisError("This question is gone.")
    questions.remove(named)
    _forget_question()
