"""Cached access to the library, the only way for pages: list reports, find the page's report, run analyses."""

from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd
import streamlit as st

from app import script_queue
from app.stale_cache import lasting
from app.web import access, login_cookie, visitors
from profiledb import config
from profiledb.config import Settings
from profiledb.errors import AnalysisError, ReportNotFoundError, WarpdeckError
from profiledb.findings import digest
from profiledb.library.catalog import FIRST_SAMPLE, Job, Manifest, Subject
from profiledb.library.library import Library
from profiledb.library.report_links import Partner
from profiledb.query import captures, header, request, views
from profiledb.query.answer_cache import Answers
from profiledb.query.captures import Capture
from profiledb.query.request import Key
from profiledb.query.single_flight_cache import SingleFlightCache
from profiledb.report import sidecar
from profiledb.report.report_lookup import find
from profiledb.selection import model
from profiledb.studies import run_lookup
from profiledb.studies.runs.run_list import Run, find_run
from profiledb.studies.trends.series_board import Board
from profiledb.studies.trends.team_summary_store import summaries_of

Value = TypeVar("Value")
PARAMETER = "report"
"""URL parameter with the report of a page."""

_VIEWS = 8
"""Number of different visibilities for which lists are cached."""
# A page that waits for a query lets other pages run.
_ANSWERS = Answers(aside=script_queue.page_scripts.step_aside)
_QUESTIONS = SingleFlightCache(aside=script_queue.page_scripts.step_aside)
"""Answers to SQL questions, in their own cache: one can be as large as all other answers together."""
_LAST = "last_report"
_AT_HAND = "report-at-hand"
_SELECTED = "selected"


def settings() -> Settings:
    return config.load()


def library() -> Library:
    """Return the library as this session's user sees it; without a login, one object shared by all sessions.

    This also creates the inbox.
    """
    known = settings()
    whole = visitors.get_whole_library()
    if not known.inbox.is_dir():
        known.inbox.mkdir(parents=True, exist_ok=True)
    return whole.asked_by(access.get_visitor()) if login_cookie.has_login() else whole


def editing() -> Library:
    """Return the library for changes: every change that a page makes goes through this.

    Raises:
        NotAllowedError: the user may only read.
    """
    access.require_editor()
    return library()


def administering() -> Library:
    """Return the library for admins, who may read the audit and manage access.

    Raises:
        NotAllowedError: the user is not an admin.
    """
    access.require_admin()
    return library()


def reports() -> list[Manifest]:
    """Return all reports, newest first; reread only after the catalog has changed."""
    return list(_list_reports(*_build_list_key()))


@lasting(maxsize=_VIEWS)
def _list_reports(folder: Path, version: tuple[int, int], kind: object) -> tuple[Manifest, ...]:  # noqa: ARG001 (part of the key)
    return tuple(library().list())


def _build_list_key() -> tuple[Path, tuple[int, int], object]:
    """Return the cache key of lists: the library, its version, and the user's visibility."""
    shelf = library()
    return shelf.folder, shelf.catalog.version(), shelf.catalog.visibility.cache_key()


def jobs() -> list[Job]:
    """Return all files ever picked up, last changed first; reread only after one has changed."""
    shelf = library()
    return list(_list_jobs(shelf.folder, shelf.catalog.version_of_files(), shelf.catalog.visibility.cache_key()))


@lasting(maxsize=_VIEWS)
def _list_jobs(folder: Path, version: tuple[int, ...], kind: object) -> tuple[Job, ...]:  # noqa: ARG001 (part of the key)
    return tuple(library().catalog.jobs())


def labels() -> dict[str, list[str]]:
    """Return sorted labels by report id; reread only after the catalog has changed."""
    return dict(_read_labels(*_build_list_key()))


@lasting(maxsize=_VIEWS)
def _read_labels(folder: Path, version: tuple[int, int], kind: object) -> dict[str, list[str]]:  # noqa: ARG001 (part of the key)
    return library().catalog.labels()


def links(to: Partner = "ncu") -> dict[str, str]:
    """Return the id of the Compute report, or of the trace, linked to each Systems report."""
    return dict(_read_links(*_build_list_key(), to))


@lasting(maxsize=2 * _VIEWS)
def _read_links(folder: Path, version: tuple[int, int], kind: object, to: Partner) -> dict[str, str]:  # noqa: ARG001 (part of the key)
    return library().catalog.links.all(to)


def board() -> Board:
    """Return the library's series; recomputed only after a change to a report, a summary, a rule or a user's note."""
    shelf = library()
    rules = settings().series
    versions = (shelf.catalog.version(), summaries_of(shelf).version(), request.stamp(rules) if rules else 0)
    with script_queue.page_scripts.step_aside():
        return _read_board(shelf.folder, versions, shelf.catalog.visibility.cache_key())


@lasting(maxsize=_VIEWS)
def _read_board(folder: Path, versions: tuple[Any, ...], kind: object) -> Board:  # noqa: ARG001 (part of the key)
    found = Board(library())
    _ = found.listed
    return found


def runs() -> list[Run]:
    """Return the runs on several GPUs; listed again only after a change to a report or a summary."""
    shelf = library()
    versions = (shelf.catalog.version(), summaries_of(shelf).version())
    return list(_list_runs(shelf.folder, versions, shelf.catalog.visibility.cache_key()))


@lasting(maxsize=_VIEWS)
def _list_runs(folder: Path, versions: tuple[Any, ...], kind: object) -> tuple[Run, ...]:  # noqa: ARG001 (part of the key)
    return tuple(run_lookup.list_runs(library(), reports()))


def has_run(report_id: str) -> bool:
    """Return whether a report is of a run on several GPUs."""
    return find_run(runs(), report_id) is not None


def systems_of(report_id: str, to: Partner = "ncu") -> list[Manifest]:
    """Return the Systems reports linked to this Compute report or trace, newest first."""
    linked = links(to)
    return [one for one in reports() if linked.get(one.id) == report_id]


def report(subject: Subject | None = None) -> Manifest:
    """Return the report of this page: the one in the URL (id, unique prefix or file name), or else the usual one.

    Raises:
        ReportNotFoundError: the URL matches no report or several, or there is no report on ``subject``.
    """
    if named := st.query_params.get(PARAMETER):
        return find(reports(), named)
    if found := usual(subject):
        return found
    raise ReportNotFoundError(
        "There is no report of this kind yet." if subject else "There is no report yet.",
        hint=f"Drop one into {settings().inbox_text} or into the Library page.",
    )


def usual(subject: Subject | None = None) -> Manifest | None:
    """Return the report on ``subject`` that pages show when the URL names none; imports do not change it.

    It is the session's last report. Before there is one: the sample for newcomers or, without it, the report that was
    the newest when this was first asked.
    """
    fitting = {r.id: r for r in reports() if subject is None or subject in r.subjects}
    at_hand: dict[str | None, str] = st.session_state.setdefault(_AT_HAND, {})
    first = next((r.id for r in fitting.values() if r.sample and r.name == FIRST_SAMPLE), None)
    ids = (st.session_state.get(_LAST), at_hand.get(subject), first, *fitting)
    found = next((fitting[report_id] for report_id in ids if report_id in fitting), None)
    if found:
        at_hand[subject] = found.id
    return found


def about(subject: Subject, without: str = "") -> dict[str, Manifest]:
    """Return the reports on a subject by id, newest first, except for ``without`` (the page's own)."""
    return {one.id: one for one in reports() if subject in one.subjects and one.id != without}


def named(parameter: str, among: Mapping[str, Manifest]) -> list[str]:
    """Return the ids of the reports in ``among`` that the URL names by id, unique prefix of an id, or file name."""
    ids = []
    for text in st.query_params.get_all(parameter):
        with suppress(ReportNotFoundError):
            ids.append(find(among.values(), text).id)
    return list(dict.fromkeys(ids))


def remember(manifest: Manifest) -> None:
    """Make a report the session's last one, and write it to the URL unless the URL already names it."""
    st.session_state[_LAST] = manifest.id
    if named(PARAMETER, {manifest.id: manifest}) != [manifest.id]:
        st.query_params[PARAMETER] = manifest.id


def select(report_id: str, params: Mapping[str, Any]) -> None:
    """Set the selection (profiledb.selection) that ``run`` applies to this report; see ``page_selection.settle``."""
    st.session_state[_SELECTED] = (report_id, dict(params))


def selected(report_id: str) -> dict[str, Any]:
    """Return the selection of this report as parameters; empty for the whole report."""
    of, params = st.session_state.get(_SELECTED, ("", {}))
    return dict(params) if of == report_id else {}


def run(report_id: str, name: str, /, **params: Any) -> pd.DataFrame:
    """Run an analysis on the selected part of a report; explicit parameters override the selection.

    See profiledb.query.analysis.run for the result and the errors, and ``whole`` for the cache.
    """
    return whole(report_id, name, **header.get(name).taken(selected(report_id)) | params)


def whole(report_id: str, name: str, /, **params: Any) -> pd.DataFrame:
    """Run an analysis with these parameters only, ignoring the selection.

    Answers are shared by all sessions (profiledb.query.answer_cache) and survive restarts of the server
    (profiledb.query.answer_store).
    """
    shelf = library()
    if not shelf.is_here(report_id):
        with script_queue.page_scripts.step_aside():
            shelf.fetch(report_id)
    return answer(shelf, report_id, name, **params)


def answer(shelf: Library, report_id: str, name: str, /, **params: Any) -> pd.DataFrame:
    """Run an analysis as ``whole`` does, for routes, which have a library but no session."""
    return _ANSWERS.answer(shelf, request.build(shelf, report_id, name, params))


def key(report_id: str, version: str, params: Mapping[str, Any], more: Hashable = ()) -> Key:
    """Return the cache key of a value computed from several answers about a report (``request.key``).

    Args:
        report_id: the report.
        version: names the value and the version of its rules.
        params: the selection.
        more: everything else that the value depends on.
    """
    every = {"trace": links("trace"), **digest.links(links)}
    partners = {kind: ids[report_id] for kind, ids in every.items() if report_id in ids}
    return request.key(library(), report_id, version, (model.parse(params), more), partners)


def worked_out(key: Key, make: Callable[[], Value]) -> Value:
    """Compute a value once for all sessions; each gets its own copy, and other pages run meanwhile."""
    return _ANSWERS.cache.copy_of(key, make)


def asked(key: Key, make: Callable[[], Value]) -> Value:
    """Return the answer to an SQL question, cached the same way; refusals are cached, too."""
    return _QUESTIONS.copy_of(key, make, keep=AnalysisError)


def answers_bytes() -> int:
    """Return the size in bytes of the cached answers and of values computed from them."""
    return _ANSWERS.cache.bytes


def questions_bytes() -> int:
    """Return the size in bytes of the cached answers to SQL questions."""
    return _QUESTIONS.bytes


def has_sidecar(report_id: str, kind: sidecar.Kind) -> bool:
    """Return whether a report has a sidecar file of this kind."""
    return library().has_sidecar(report_id, kind)


def has_answer(report_id: str, name: str) -> bool:
    """Return whether an analysis of the whole report, with default parameters, has rows."""
    try:
        return not whole(report_id, name).empty
    except WarpdeckError:
        return False


def missing(report_id: str) -> list[Capture]:
    """Return the data that a report lacks, and how to capture it."""

    def read() -> list[Capture]:
        with library().cursor(report_id, views=views.needed(captures.INCLUDES)) as cursor:
            return captures.missing(cursor)

    return worked_out(key(report_id, "captures", {}), read)


def to_record(report_id: str, table: str) -> str:
    """Return the command or option that records a missing table; "" if it was already used, or if none does."""
    return next((one.flag for one in missing(report_id) if one.table == table), "")
