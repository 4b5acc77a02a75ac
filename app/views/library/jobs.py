"""Files being imported and failed imports, in a part of the page that refreshes by itself."""

from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from app import session, worker_process
from app.ui import format as fmt
from app.ui import page_elements
from app.views.library import sidecars
from app.web import access
from profiledb.library import disk
from profiledb.library.catalog import OPEN_STATES, Job
from profiledb.library.workers import WorkerInfo, list_converters

REFRESH_S = 1.0
FEW = 2
"""Most failures shown unfolded; more are folded under their number."""

SHOWN = 50
_NAME_LETTERS = 32
_LISTED = "library-listed"
_OPEN = "library-open"
_CLOSED_STATES = ("failed", "deferred", "dismissed", "deleted", "gone", "skipped")
"""States of files that were taken up and became no report."""


def note_listed() -> None:
    """Remember the listed reports, so that the live part can rerun the page when they change."""
    st.session_state[_LISTED] = _build_list_key()


def is_first_import() -> bool:
    """Return True if files are being imported into a library without reports.

    Samples count even before the worker has added jobs for them.
    """
    if _count_open():
        return True
    if session.count() or session.list_jobs(*_CLOSED_STATES):
        return False
    samples = session.get_settings().samples
    return (
        worker_process.check_worker().state in ("here", "starting") and samples is not None and any(samples.glob("*"))
    )


def draw_progress() -> None:
    """Draw in one line what is being imported, as long as anything is; the line refreshes by itself."""
    if _count_open():
        st.fragment(_draw_line, run_every=REFRESH_S)()


def are_samples_coming() -> bool:
    """Return True while samples wait for their import."""
    return any(_list_samples().values())


def _draw_line() -> None:
    with page_elements.boundary():
        samples = _list_samples()
        parts = []
        if any(samples.values()):
            parts.append(f"{list(samples.values()).count(False)} of {len(samples)} samples")
        running = [job for job in session.list_jobs("converting", "loading") if not _is_sample(job)]
        if running:
            step = f" ({fmt.plain(running[0].message)})" if running[0].message else ""
            parts.append(f"Reading **{fmt.plain(fmt.shortened(running[0].name, _NAME_LETTERS))}**{step}")
        own = _count_open() - sum(job.state in OPEN_STATES for job in _list_sample_jobs())
        if more := own - len(running[:1]):
            parts.append(f"{fmt.counted(more, 'file')} {'waits' if more == 1 else 'wait'}")
        if parts:
            st.caption(f":material/progress_activity: {' · '.join(parts)}", width="content")


def _count_open() -> int:
    return sum(session.count_jobs(*OPEN_STATES).values())


def _list_sample_jobs() -> list[Job]:
    folder = session.get_settings().samples
    return session.list_jobs_below(str(folder)) if folder else []


def _list_samples() -> dict[str, bool]:
    """Return whether each sample is still to be imported, by its path."""
    return {
        job.path: job.state in OPEN_STATES
        for job in _list_sample_jobs()
        if job.file_kind == "report" and job.state != "companion"
    }


def _is_sample(job: Job) -> bool:
    return session.get_settings().samples in Path(job.path).parents


@st.fragment(run_every=REFRESH_S)
def draw_live() -> None:
    """Draw the worker's problems and failures, and rerun the page when its reports change."""
    with page_elements.boundary():
        state = worker_process.check_worker()
        _announce_finished()
        if st.session_state.get(_LISTED) != _build_list_key():
            st.rerun()
        _warn_about_worker(state)
        _explain_disk(state)
        counts = session.count_jobs("deferred", "failed", "skipped", "alone")
        for name, draw in (("deferred", _draw_deferred), ("failed", _draw_failures), ("skipped", _draw_skipped)):
            if name in counts:
                draw(session.list_jobs(name), counts[name])
        sidecars.draw_waiting(counts.get("alone", 0))


def _build_list_key() -> tuple[int, str, bool]:
    """Return the number of reports, the id of the newest, and whether any are being imported."""
    newest = session.list_page(most=1)
    return session.count(), newest[0].id if newest else "", is_first_import()


def _announce_finished() -> None:
    """Show a toast for each file that has finished since this visitor's last refresh; samples are counted instead."""
    before: list[str] = st.session_state.get(_OPEN, [])
    for job in session.list_jobs_at(before) if before else ():
        words = {"ready": "is ready", "duplicate": "is in the library already", "failed": "could not be read"}
        if job.state in words and not _is_sample(job):
            st.toast(f"{fmt.plain(job.name)} {words[job.state]}.")
    st.session_state[_OPEN] = [job.path for job in session.list_jobs(*OPEN_STATES)]


def _warn_about_worker(status: worker_process.WorkerStatus) -> None:
    """Warn about problems that keep files from being imported; draw nothing if there are none."""
    if status.state == "off":
        st.warning("No importer is running. Start one with:", icon=":material/pause_circle:")
        st.code("warpdeck ingest", language=None)
    elif status.state == "refused":
        st.error(fmt.plain(status.reason), icon=":material/error:")
    elif status.state == "stopped":
        st.warning("The importer stopped and will restart in a moment.", icon=":material/warning:")
        page_elements.draw_output(status.reason, "Last output")


def _explain_disk(status: worker_process.WorkerStatus) -> None:
    """Explain why new files wait while the library cannot be written, even if the catalog cannot say so for each file.

    If the importer runs elsewhere, only a full disk counts: it may run as another user with other write permissions.
    """
    trouble = disk.find_trouble(session.get_settings().library)
    if trouble == disk.FULL or (trouble and status.state != "elsewhere"):
        st.warning(f"{trouble.message} New files wait until it can be written again.", icon=":material/hard_drive:")


def _draw_skipped(jobs: Sequence[Job], count: int) -> None:
    """List the inbox entries that are not readable reports."""
    title = "1 entry of the inbox is skipped" if count == 1 else f"{count} entries of the inbox are skipped"
    with st.expander(title, icon=":material/visibility_off:", expanded=count <= FEW):
        for job in sorted(jobs, key=lambda job: job.path)[:SHOWN]:
            st.markdown(f"{_format_message(job)} {fmt.sentence(job.hint)}")
        if count > SHOWN:
            st.caption(f"and {count - SHOWN} more")


def _draw_deferred(jobs: Sequence[Job], count: int) -> None:
    """Show the files that wait for an automatic retry, with the reason for the first."""
    for first in jobs[:1]:
        more = f" and {count - 1} more" if count > 1 else ""
        reason = f"{fmt.plain(first.message)} {fmt.sentence(first.hint)}"
        sentence = f"**{fmt.plain(first.name)}**{more} {'wait' if more else 'waits'}: {reason}"
        st.warning(sentence, icon=":material/hourglass_top:")


def _draw_failures(jobs: Sequence[Job], count: int) -> None:
    title = "1 file failed to import" if count == 1 else f"{count} files failed to import"
    few = count <= FEW
    with st.expander(title if few else f"{title}: show why", icon=":material/error:", expanded=few):
        for job in jobs[:SHOWN]:
            _draw_failure(job)
        if count > SHOWN:
            st.caption(f"and {count - SHOWN} more")


def _draw_failure(job: Job) -> None:
    text, buttons = st.columns([5, 2], vertical_alignment="top")
    with text.container(gap="xxsmall"):
        st.markdown(_format_message(job))
        hint, command = page_elements.split_hint(job.hint)
        if hint:
            st.markdown(hint)
        if command:
            st.code(command, language=None)
        page_elements.draw_output(job.detail)
    if not access.may_edit():
        return
    with buttons.container(horizontal=True, horizontal_alignment="right"):
        st.button("Try again", key=f"again-{job.path}", on_click=_try_again, args=(job.path,))
        st.button("Dismiss", key=f"away-{job.path}", on_click=_dismiss_job, args=(job.path,), type="tertiary")


def _format_message(job: Job) -> str:
    """Return the job's message with the file name in bold, prepending the name if the message lacks it."""
    name, message = fmt.plain(job.name), fmt.plain(job.message)
    return message.replace(name, f"**{name}**", 1) if name in message else f"**{name}**: {message}"


def _try_again(path: str) -> None:
    session.open_for_changes().catalog.forget_job(path, asked=True)


def _dismiss_job(path: str) -> None:
    session.open_for_changes().catalog.dismiss(path)


def set_aside() -> None:
    """Warn that the catalog was damaged, as long as the damaged file is still in the library folder."""
    if damaged := session.library().catalog.damaged_files():
        st.warning(
            "The library's catalog was damaged and has been rebuilt. Labels and links that could not be read"
            f" are lost. To hide this line, remove the damaged file {fmt.plain(damaged[0])}.",
            icon=":material/warning:",
        )


def draw_workers() -> None:
    """List a team's workers: each machine, its number of workers, and their converters."""
    workers: dict[str, list[WorkerInfo]] = {}
    for one in worker_process.list_team_workers(session.get_settings()):
        workers.setdefault(f"{one.host}: {list_converters([one])}", []).append(one)
    if workers:
        labels = [f"{name} ({len(of)} workers)" if len(of) > 1 else name for name, of in sorted(workers.items())]
        more = f" · and {len(labels) - SHOWN} more" if len(labels) > SHOWN else ""
        st.caption(f"Importers · {' · '.join(map(fmt.plain, labels[:SHOWN]))}{more}")


def describe_inbox(status: worker_process.WorkerStatus, inbox: str) -> str:
    """Return one line on where to put files and whether the importer is running."""
    words = {
        "here": "Importer running",
        "elsewhere": "Importer running elsewhere",
        "starting": "Importer starting",
        "off": "Importer off",
        "stopped": "Importer stopped",
        "refused": "Importer not started",
    }
    most = fmt.bytes_(session.get_settings().max_upload_mb << 20)
    return (
        f"Drop reports here (at most {most} each), or copy them into **{fmt.plain(inbox)}**  ·  {words[status.state]}"
    )
