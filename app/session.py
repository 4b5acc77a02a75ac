"""Cached access to the library, the only way for pages: list reports, find the page's report, run analyses."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd
import streamlit as st

from app import script_queue
from app.stale_cache import cache_by_version
from app.web import access, login_cookie, visitors
from profiledb import config
from profiledb.config import Settings
from profiledb.errors import AnalysisError, ReportNotFoundError, WarpdeckError
from profiledb.findings import digest
from profiledb.library.catalog import FIRST_SAMPLE, OPEN_STATES, Job, Manifest, Subject
from profiledb.library.library import Library
from profiledb.library.report_links import Partner
from profiledb.library.report_list import PAGE, Filters
from profiledb.query import captures, header, request, views
from profiledb.query.answer_cache import Answers
from profiledb.query.captures import Capture
from profiledb.query.request import Key
from profiledb.query.single_flight_cache import SingleFlightCache
from profiledb.report import sidecar
from profiledb.report.report_lookup import find as find_among
from profiledb.selection import model
from profiledb.studies import run_lookup
from profiledb.studies.run_lookup import RunLine
from profiledb.studies.runs.run_list import Run
from profiledb.studies.trends.series_board import Board
from profiledb.studies.trends.team_summary_store import open_summaries

Value = TypeVar("Value")
PARAMETER = "report"
"""URL parameter with the report of a page."""

OFFERED = 300
"""Reports that a page offers in a list to choose from, newest first; the search and the Library find the others."""
ALL = Filters()
_VIEWS = 8
"""Number of different visibilities for which lists are cached."""
_LISTS = 256
"""Number of answers about lists that are cached."""
# A page that waits for a query lets other pages run.
_ANSWERS = Answers(aside=script_queue.page_scripts.step_aside)
_QUESTIONS = SingleFlightCache(aside=script_queue.page_scripts.step_aside)
"""Answers to SQL questions, in their own cache: one can be as large as all other answers together."""
_last_boards: dict[tuple[Path, object], Board] = {}
"""The last board for each visibility, from which the next one is made."""
_LAST = "last_report"
_AT_HAND = "report-at-hand"
_SELECTED = "selected"


def get_settings() -> Settings:
    return config.load()


def library() -> Library:
    """Return the library as this session's user sees it; without a login, one object shared by all sessions.

    This also creates the inbox.
    """
    known = get_settings()
    whole = visitors.get_whole_library()
    if not known.inbox.is_dir():
        known.inbox.mkdir(parents=True, exist_ok=True)
    return whole.asked_by(access.get_visitor()) if login_cookie.has_login() else whole


def open_for_changes() -> Library:
    """Return the library for changes: every change that a page makes goes through this.

    Raises:
        NotAllowedError: the user may only read.
    """
    access.require_editor()
    return library()


def open_for_admin() -> Library:
    """Return the library for admins, who may read the audit and manage access.

    Raises:
        NotAllowedError: the user is not an admin.
    """
    access.require_admin()
    return library()


def count(filters: Filters = ALL) -> int:
    """Return the number of reports that pass these filters."""
    return int(_ask_list(*_build_list_key(), "count", filters))


def list_page(filters: Filters = ALL, order: str = "newest", first: int = 0, most: int = PAGE) -> list[Manifest]:
    """Return a page of the list of reports (profiledb.library.report_list)."""
    return list(_ask_list(*_build_list_key(), "page", filters, order, first, most))


def reports(ids: Iterable[str]) -> dict[str, Manifest]:
    """Return some reports by id, in this order, without those that are not in the library."""
    return dict(_ask_list(*_build_list_key(), "get", tuple(ids)))


def find(name: str) -> Manifest:
    """Return the report with this id, unique prefix of an id, or name; raises ReportNotFoundError."""
    manifest: Manifest = _ask_list(*_build_list_key(), "find", name)
    return manifest


def read_labels(ids: Iterable[str]) -> dict[str, list[str]]:
    """Return the sorted labels of each of some reports that has any."""
    return dict(_ask_list(*_build_list_key(), "labels_of", tuple(ids)))


def read_choices(of: str, *given: str) -> list[str]:
    """Return the values to filter the list by: ``kinds``, ``gpus``, ``labels`` or ``rules`` of all reports."""
    return list(_ask_list(*_build_list_key(), of, *given))


@cache_by_version(maxsize=_LISTS)
def _ask_list(folder: Path, version: tuple[int, int], kind: object, method: str, *given: Any) -> Any:  # noqa: ARG001 (part of the key)
    """Call a method of the catalog's list of reports; again only after the catalog has changed."""
    return getattr(library().catalog.listing, method)(*given)


def _build_list_key() -> tuple[Path, tuple[int, int], object]:
    """Return the cache key of lists: the library, its version, and the user's visibility."""
    shelf = library()
    return shelf.folder, shelf.catalog.version(), shelf.catalog.visibility.cache_key()


def list_jobs(*states: str) -> list[Job]:
    """Return the files in some states, last changed first, as many as a page shows."""
    return list(_ask_files("jobs_in", *states))


def find_unfinished_job(name: str | None) -> Job | None:
    """Return the file of this name that is being imported or that failed; None if there is none."""
    return next((job for job in list_jobs("failed", *OPEN_STATES) if job.name == name), None)


def count_jobs(*states: str) -> dict[str, int]:
    """Return the number of files in each of these states that has any."""
    return dict(_ask_files("count_jobs", *states))


def list_warned_jobs(most: int) -> list[Job]:
    """Return files that were taken in with a remark."""
    return list(_ask_files("warned_jobs", most))


def list_jobs_below(folder: str) -> list[Job]:
    """Return the files in a folder and below, such as that of the samples."""
    return list(_ask_files("jobs_below", folder))


def list_jobs_at(paths: Iterable[str]) -> list[Job]:
    """Return some files by their paths."""
    return list(_ask_files("jobs_at", tuple(paths)))


def _ask_files(method: str, *given: Any) -> Any:
    shelf = library()
    version, kind = shelf.catalog.version_of_files(), shelf.catalog.visibility.cache_key()
    return _ask_catalog(shelf.folder, version, kind, method, *given)


@cache_by_version(maxsize=_LISTS)
def _ask_catalog(folder: Path, version: tuple[int, ...], kind: object, method: str, *given: Any) -> Any:  # noqa: ARG001 (part of the key)
    """Call a method of the catalog about files; again only after one has changed."""
    return getattr(library().catalog, method)(*given)


def read_links(to: Partner = "ncu") -> dict[str, str]:
    """Return the id of the Compute report, or of the trace, linked to each Systems report."""
    return dict(_read_links(*_build_list_key(), to))


@cache_by_version(maxsize=2 * _VIEWS)
def _read_links(folder: Path, version: tuple[int, int], kind: object, to: Partner) -> dict[str, str]:  # noqa: ARG001 (part of the key)
    return library().catalog.links.all(to)


def count_removals() -> tuple[int, int]:
    """Return the number of reports that retention is about to remove, and their bytes."""
    shelf = library()
    return _count_removals(shelf.folder, shelf.catalog.version(), shelf.catalog.visibility.cache_key())


@cache_by_version(maxsize=_VIEWS)
def _count_removals(folder: Path, version: Any, kind: object) -> tuple[int, int]:  # noqa: ARG001 (the key)
    return library().catalog.removals.count()


def read_board() -> Board:
    """Return the library's series; recomputed only after a change to a report, a summary, a rule or a user's note."""
    shelf = library()
    rules = get_settings().series
    versions = (
        shelf.catalog.version(),
        open_summaries(shelf).version(),
        request.read_modified_ns(rules) if rules else 0,
    )
    with script_queue.page_scripts.step_aside():
        return _read_board(shelf.folder, versions, shelf.catalog.visibility.cache_key())


@cache_by_version(maxsize=_VIEWS)
def _read_board(folder: Path, versions: tuple[Any, ...], kind: object) -> Board:  # noqa: ARG001 (part of the key)
    board = Board(library(), _last_boards.pop((folder, kind), None))
    _ = board.listed
    _last_boards[folder, kind] = board
    while len(_last_boards) > _VIEWS:
        _last_boards.pop(next(iter(_last_boards)), None)
    return board


def run_of(report_id: str) -> Run | None:
    """Return the run on several GPUs that a report is of; looked for again only after a change to a summary."""
    shelf = library()
    versions = (shelf.catalog.version(), open_summaries(shelf).version())
    return _find_run(shelf.folder, versions, shelf.catalog.visibility.cache_key(), report_id)


@cache_by_version(maxsize=_LISTS)
def _find_run(folder: Path, versions: tuple[Any, ...], kind: object, report_id: str) -> Run | None:  # noqa: ARG001 (part of the key)
    return run_lookup.find_run(library(), report_id)


def run_lines() -> list[RunLine]:
    """Return the runs of the library; read again only after a change to a report or a summary.

    In a team no version changes when a run is worked out, so what is not known yet is looked for each time.
    """
    shelf = library()
    versions = (shelf.catalog.version(), open_summaries(shelf).version())
    lines = _list_runs(shelf.folder, versions, shelf.catalog.visibility.cache_key())
    return run_lookup.complete_lines(shelf, lines)


@cache_by_version(maxsize=_VIEWS)
def _list_runs(folder: Path, versions: tuple[Any, ...], kind: object) -> list[RunLine]:  # noqa: ARG001 (part of the key)
    return run_lookup.list_lines(library())


def has_run(report_id: str) -> bool:
    """Return whether a report is of a run on several GPUs."""
    return run_of(report_id) is not None


def find_systems(report_id: str, to: Partner = "ncu") -> list[Manifest]:
    """Return the Systems reports linked to this Compute report or trace, newest first."""
    linked = reports(nsys_id for nsys_id, other in read_links(to).items() if other == report_id)
    return sorted(linked.values(), key=lambda one: one.ingested_at, reverse=True)


def report(subject: Subject | None = None) -> Manifest:
    """Return the report of this page: the one in the URL (id, unique prefix or file name), or else the usual one.

    Raises:
        ReportNotFoundError: the URL matches no report or several, or there is no report on ``subject``.
    """
    if named := st.query_params.get(PARAMETER):
        return find(named)
    if manifest := choose_usual(subject):
        return manifest
    raise ReportNotFoundError(
        "There is no report of this kind yet." if subject else "There is no report yet.",
        hint=f"Drop one into {get_settings().inbox_text} or into the Library page.",
    )


def choose_usual(subject: Subject | None = None) -> Manifest | None:
    """Return the report on ``subject`` that pages show when the URL names none; imports do not change it.

    It is the session's last report. Before there is one: the sample for newcomers or, without it, the report that was
    the newest when this was first asked.
    """
    at_hand: dict[str | None, str] = st.session_state.setdefault(_AT_HAND, {})
    candidate_ids = (st.session_state.get(_LAST), at_hand.get(subject))
    known = reports(report_id for report_id in candidate_ids if report_id)
    manifest = next((one for one in known.values() if subject is None or subject in one.subjects), None)
    if manifest is None:
        samples = list_page(Filters(text=FIRST_SAMPLE, subject=subject, is_sample=True))
        first = [one for one in samples if one.name == FIRST_SAMPLE]
        manifest = next(iter(first or list_page(Filters(subject=subject), most=1)), None)
    if manifest:
        at_hand[subject] = manifest.id
    return manifest


def list_about(subject: Subject, without: str = "", named_by: str = "") -> dict[str, Manifest]:
    """Return the newest reports on a subject by id, except for ``without`` (the page's own).

    Pages offer these in a list; a report that the URL names in the parameter ``named_by`` is among them.
    """
    asked = []
    for text in st.query_params.get_all(named_by) if named_by else ():
        with suppress(ReportNotFoundError):
            asked.append(find(text))
    newest = {one.id: one for one in list_page(Filters(subject=subject), most=OFFERED)}
    known = newest | {one.id: one for one in asked if subject in one.subjects}
    known.pop(without, None)
    return known


def read_named(parameter: str, among: Mapping[str, Manifest]) -> list[str]:
    """Return the ids of the reports in ``among`` that the URL names by id, unique prefix of an id, or file name."""
    ids = []
    for text in st.query_params.get_all(parameter):
        with suppress(ReportNotFoundError):
            ids.append(find_among(among.values(), text).id)
    return list(dict.fromkeys(ids))


def remember(manifest: Manifest) -> None:
    """Make a report the session's last one, and write it to the URL unless the URL already names it."""
    st.session_state[_LAST] = manifest.id
    if read_named(PARAMETER, {manifest.id: manifest}) != [manifest.id]:
        st.query_params[PARAMETER] = manifest.id


def select(report_id: str, params: Mapping[str, Any]) -> None:
    """Set the selection (profiledb.selection) that ``run`` applies to this report; see ``page_selection.settle``."""
    st.session_state[_SELECTED] = (report_id, dict(params))


def read_selected(report_id: str) -> dict[str, Any]:
    """Return the selection of this report as parameters; empty for the whole report."""
    of, params = st.session_state.get(_SELECTED, ("", {}))
    return dict(params) if of == report_id else {}


def run(report_id: str, name: str, /, **params: Any) -> pd.DataFrame:
    """Run an analysis on the selected part of a report; explicit parameters override the selection.

    See profiledb.query.analysis.run for the result and the errors, and ``whole`` for the cache.
    """
    return run_whole(report_id, name, **header.get(name).taken(read_selected(report_id)) | params)


def run_whole(report_id: str, name: str, /, **params: Any) -> pd.DataFrame:
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


def make_key(report_id: str, version: str, params: Mapping[str, Any], more: Hashable = ()) -> Key:
    """Return the cache key of a value computed from several answers about a report (``request.make_key``).

    Args:
        report_id: the report.
        version: names the value and the version of its rules.
        params: the selection.
        more: everything else that the value depends on.
    """
    every = {"trace": read_links("trace"), **digest.read_links(read_links)}
    partners = {kind: ids[report_id] for kind, ids in every.items() if report_id in ids}
    return request.make_key(library(), report_id, version, (model.parse(params), more), partners)


def work_out(key: Key, make: Callable[[], Value]) -> Value:
    """Compute a value once for all sessions; each gets its own copy, and other pages run meanwhile."""
    return _ANSWERS.cache.copy_of(key, make)


def ask_once(key: Key, make: Callable[[], Value]) -> Value:
    """Return the answer to an SQL question, cached the same way; refusals are cached, too."""
    return _QUESTIONS.copy_of(key, make, keep=AnalysisError)


def count_answer_bytes() -> int:
    """Return the size in bytes of the cached answers and of values computed from them."""
    return _ANSWERS.cache.bytes


def count_question_bytes() -> int:
    """Return the size in bytes of the cached answers to SQL questions."""
    return _QUESTIONS.bytes


def has_sidecar(report_id: str, kind: sidecar.Kind) -> bool:
    """Return whether a report has a sidecar file of this kind."""
    return library().has_sidecar(report_id, kind)


def has_answer(report_id: str, name: str) -> bool:
    """Return whether an analysis of the whole report, with default parameters, has rows."""
    try:
        return not run_whole(report_id, name).empty
    except WarpdeckError:
        return False


def list_missing(report_id: str) -> list[Capture]:
    """Return the data that a report lacks, and how to capture it."""

    def read() -> list[Capture]:
        with library().cursor(report_id, views=views.list_needed(captures.INCLUDES)) as cursor:
            return captures.list_missing(cursor)

    return work_out(make_key(report_id, "captures", {}), read)


def name_program(report_id: str, command: str) -> str:
    """Put the program of a report into a command, for ``captures.PROGRAM``."""

    def read() -> str:
        with library().cursor(report_id, views=views.list_needed(captures.INCLUDES)) as cursor:
            return captures.find_program(cursor)

    return captures.name_program(command, work_out(make_key(report_id, "program", {}), read))


def to_record(report_id: str, table: str) -> str:
    """Return the command that records a missing table; "" if it was already used, or if none does."""
    return next((one.command for one in list_missing(report_id) if one.table == table), "")
