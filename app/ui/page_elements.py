"""Parts that every page is made of: heading, facts, table, and the words for what went wrong.

What comes from a report (names, paths, a converter's output) is untrusted: it is shown through ``format.plain`` or as
code, never as Markdown or HTML.
"""

import logging
import re
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import streamlit as st

from app import page_list, streamlit_private
from app.ui import format as fmt
from app.ui import navigation
from profiledb.errors import NotCapturedError, WarpdeckError
from profiledb.library.catalog import Manifest
from profiledb.monitoring import counters
from profiledb.words import KIND_TITLES

STYLE = Path(__file__).parents[1] / "static" / "style.css"


_ESCAPED = "escaped-error"
_COMMAND = re.compile(r"(.*): ((?:nsys|ncu|warpdeck|python -m) .+)")

_log = logging.getLogger("warpdeck")


def kind_title(kind: str) -> str:
    """What people call a kind of report."""
    return KIND_TITLES.get(kind, kind)


def kind_of(report: Manifest) -> str:
    """The kind of a report; of a trace that another program wrote in the form of PyTorch's, that program."""
    is_other = report.kind == "torch" and report.tool not in (None, KIND_TITLES["torch"])
    return (report.tool or report.kind) if is_other else report.kind


def open_report(manifest: Manifest) -> None:
    """Goes to the first page of a report."""
    navigation.to(page_list.get_first_view(manifest).path, {"report": manifest.id})


def header(manifest: Manifest, title: str) -> None:
    """The title of a page (plain text) and one quiet line of facts about its report."""
    st.header(fmt.plain(title), anchor=False)
    kind = " ".join(part for part in (manifest.tool or kind_title(manifest.kind), manifest.tool_version) if part)
    length = fmt.duration(manifest.duration_ns) if manifest.duration_ns else None
    captured = fmt.when(manifest.captured_at) if manifest.captured_at else None
    parts = [manifest.name, manifest.gpu, length, captured, kind, "sample" if manifest.sample else None]
    st.caption("  ·  ".join(fmt.plain(part) for part in parts if part))


def facts(items: Sequence[tuple[str, str, str]]) -> None:
    """A compact row of figures: (label, value as text, help or ""), all plain text."""
    with st.container(horizontal=True, gap="large"):
        for label, value, about in items:
            st.metric(fmt.plain(label), fmt.plain(value), help=fmt.plain(about) if about else None, width="content")


def not_captured(error: NotCapturedError) -> None:
    """What this report lacks, what it would be good for, and the flag to copy."""
    with st.container(border=True):
        st.markdown(f"**{fmt.plain(error.message)}**")
        use = f"Needed for: {fmt.plain(error.use)}." if error.use else ""
        if told := f"{use} {fmt.plain(error.why)}".strip():
            st.markdown(told)
        if error.command:
            st.markdown("To record this, run:")
            st.code(error.command, language=None)


def lacking(error: NotCapturedError, before: str = "") -> None:
    """The same as one line, for a part of a page that goes on without, and the command to copy."""
    st.markdown(f"{before}{fmt.plain(f'{error.message} {error.why}'.strip())}")
    if error.command:
        st.code(error.command, language=None)


def problem(error: WarpdeckError) -> None:
    """An error: what is wrong, what to do, and below it the words of the program that said so."""
    said, command = hint(error.hint)
    st.error(f"{fmt.plain(error.message)}  \n{said}".strip(), icon=":material/error:")
    if command:
        st.code(command, language=None)
    words(error.detail)


def hint(text: str) -> tuple[str, str]:
    """What to do, as Markdown, and the command that it ends with after a colon: that belongs in a box, to be copied."""
    found = _COMMAND.fullmatch(text)
    return (fmt.sentence(f"{found[1]}:"), found[2]) if found else (fmt.sentence(text), "")


def words(detail: str, title: str = "Converter output") -> None:
    """Another program's output, verbatim, folded away; nothing where there is none."""
    if detail.strip():
        with st.expander(title):
            st.code(detail, language=None, wrap_lines=True)


@contextmanager
def boundary() -> Iterator[None]:
    """Turns every error into words on the page; one that nobody foresaw is logged under a number that the page shows.

    Main wraps each page in it; a fragment or a dialog, which Streamlit runs by itself, needs its own.
    """
    try:
        yield
    except NotCapturedError as error:
        not_captured(error)
    except WarpdeckError as error:
        problem(error)
    except Exception as error:  # noqa: BLE001 (the last resort: whatever it is, no traceback reaches the page)
        st.error(unforeseen(error), icon=":material/error:")


def escaped(error: Exception) -> bool:
    """Says an error that passed every boundary (``st.App`` calls it); True: nothing else has to be shown.

    A callback fails before its run has drawn anything, and ends it: the page is then drawn once more, and says it.
    """
    if streamlit_private.is_callback_running():
        st.session_state[_ESCAPED] = error
        _draw_again()
    else:
        with boundary():
            raise error
    return True


def say_escaped() -> None:
    """Says what a callback raised before this run."""
    with boundary():
        if error := st.session_state.pop(_ESCAPED, None):
            raise error


def _draw_again() -> None:
    """Outside a run this asks for one, and returns."""
    st.rerun()


def unforeseen(error: Exception) -> str:
    """Logs an error that nobody foresaw under a number, and says so without its words."""
    number = uuid.uuid4().hex[:8]
    counters.ERRORS.add(type(error).__name__)
    _log.error("Error %s", number, exc_info=error)
    return f"Something went wrong on this page. The server's log says more, under {number}."
