"""Elements of every page: heading, key figures, and error messages.

Text from a report (names, paths, converter output) is untrusted: show it through ``format.plain`` or as code, never as
Markdown or HTML.
"""

import logging
import re
import uuid
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager

import streamlit as st

from app import page_list, streamlit_private
from app.ui import format as fmt
from app.ui import navigation
from profiledb.errors import NotCapturedError, PreparingError, WarpdeckError
from profiledb.library.catalog import Manifest
from profiledb.monitoring import counters
from profiledb.query import captures
from profiledb.words import KIND_TITLES

_FACT_PX, _CHANGE_PX = 49, 20
"""Height of a figure with its label, and of a change below it, reserved before the browser has drawn them."""
_LABEL_CHAR_PX, _HELP_PX, _VALUE_CHAR_PX = 7.8, 24, 11.6
"""Width of a character of a figure's label, of its question mark and of a character of its value, in a wide font."""
_ESCAPED = "escaped-error"
_COMMAND = re.compile(r"(.*): ((?:nsys|ncu|warpdeck|python -m) .+)")

_log = logging.getLogger("warpdeck")


def get_kind_title(kind: str) -> str:
    """Return the display title of a report kind."""
    return KIND_TITLES.get(kind, kind)


def open_report(manifest: Manifest) -> None:
    """Open the first page of a report."""
    navigation.to(page_list.get_first_view(manifest).path, {"report": manifest.id})


def describe(manifest: Manifest) -> str:
    """Return facts about a report in one line (Markdown)."""
    kind = " ".join(part for part in (manifest.tool or get_kind_title(manifest.kind), manifest.tool_version) if part)
    length = fmt.duration(manifest.duration_ns) if manifest.duration_ns else None
    captured = fmt.when(manifest.captured_at) if manifest.captured_at else None
    file = f"file {manifest.name}" if manifest.title else None
    parts = [manifest.shown_name, file, manifest.gpu, length, captured, kind, "sample" if manifest.sample else None]
    return "  ·  ".join(fmt.plain(part) for part in parts if part)


def draw_facts(items: Sequence[tuple[str, str, str]]) -> None:
    """Draw a compact row of figures, each as (label, value, help or ""), all plain text."""
    with st.container(horizontal=True, gap="large"):
        for label, value, about in items:
            draw_fact(label, value, about)


def draw_fact(label: str, value: str, about: str, change: str = "") -> None:
    """Draw one figure with its label, plain text, and ``change`` (Markdown) below it.

    Its size is estimated from its texts: the browser draws figures later than the rest, and a row of figures without
    sizes wraps as they come in and pushes the page down.
    """
    label_px = _LABEL_CHAR_PX * len(label) + (_HELP_PX if about else 0)
    value_px = _VALUE_CHAR_PX * max(len(value), len(change))
    st.metric(
        fmt.plain(label), fmt.plain(value), delta=change or None, delta_color="off", delta_arrow="off",
        help=fmt.plain(about) if about else None, width=round(max(label_px, value_px)),
        height=_FACT_PX + (_CHANGE_PX if change else 0),
    )  # fmt: skip


def draw_not_captured(error: NotCapturedError) -> None:
    """Draw a box with the data that the report lacks, its use, and the command that records it."""
    with st.container(border=True):
        st.markdown(f"**{fmt.plain(error.message)}**")
        use = f"Needed for: {fmt.plain(error.use)}." if error.use else ""
        if explanation := f"{use} {fmt.plain(error.why)}".strip():
            st.markdown(explanation)
        draw_commands([error.command])


def draw_commands(commands: Iterable[str]) -> None:
    """Draw the fewest commands that record all missing data of a report; nothing if ``commands`` is empty."""
    joined = captures.join_commands(commands)
    if joined:
        st.markdown("To record this, run:")
    for command in joined:
        st.code(fmt.visible(command), language=None, wrap_lines=True)


def draw_lacks(errors: Sequence[NotCapturedError], shown: Collection[str] = ()) -> None:
    """Draw a line for each error and then the commands, for parts of a page that works without the data.

    ``shown`` are commands that the page shows already.
    """
    for error in errors:
        st.markdown(fmt.plain(f"{error.message} {error.why}".strip()))
    draw_commands(error.command for error in errors if error.command not in shown)


def draw_problem(error: WarpdeckError) -> None:
    """Show an error: the message, the hint, and the output of the program that reported it."""
    hint, command = split_hint(error.hint)
    st.error(f"{fmt.plain(error.message)}  \n{hint}".strip(), icon=":material/error:")
    if command:
        st.code(command, language=None)
    draw_output(error.detail)


def split_hint(text: str) -> tuple[str, str]:
    """Split a hint into Markdown and the command after its final colon, which belongs in a box to copy."""
    match = _COMMAND.fullmatch(text)
    return (fmt.sentence(f"{match[1]}:"), match[2]) if match else (fmt.sentence(text), "")


def draw_output(detail: str, title: str = "Converter output") -> None:
    """Draw another program's output verbatim and collapsed; nothing if it is empty."""
    if detail.strip():
        with st.expander(title):
            st.code(detail, language=None, wrap_lines=True)


@contextmanager
def boundary() -> Iterator[None]:
    """Show every error on the page; unexpected ones are logged under a number that the page shows.

    Main wraps each page in it. Fragments and dialogs run on their own in Streamlit, so each needs its own.
    """
    try:
        yield
    except NotCapturedError as error:
        draw_not_captured(error)
    except PreparingError:
        st.caption(":material/hourglass_top: This part of the page is being prepared.")
    except WarpdeckError as error:
        draw_problem(error)
    except Exception as error:  # noqa: BLE001 (last resort: no traceback may reach the page)
        st.error(log_unforeseen(error), icon=":material/error:")


def draw_escaped(error: Exception) -> bool:
    """Show an error that passed every boundary (``st.App`` calls this); return True if nothing else must be shown.

    A callback fails before its run has drawn anything, and ends the run. The page is then rerun and shows the error.
    """
    if streamlit_private.is_callback_running():
        st.session_state[_ESCAPED] = error
        _draw_again()
    else:
        with boundary():
            raise error
    return True


def say_escaped() -> None:
    """Show the error that a callback raised before this run."""
    with boundary():
        if error := st.session_state.pop(_ESCAPED, None):
            raise error


def _draw_again() -> None:
    """Request a rerun. Outside a run ``st.rerun`` returns."""
    st.rerun()


def log_unforeseen(error: Exception) -> str:
    """Log an unexpected error under a number; return a message with the number, without the error's text."""
    number = uuid.uuid4().hex[:8]
    counters.ERRORS.add(type(error).__name__)
    _log.error("Error %s", number, exc_info=error)
    return f"Something went wrong on this page. The server's log says more, under {number}."
