"""The only cached access to the library: list reports, find the page's report, run analyses."""

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
from profiledb.library.catalog import Job, Manifest, Subject
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
from profiledb.studies.trends.series_board import Board
from profiledb.studies.trends.team_summary_store import summaries_of

Value = TypeVar("Value")
PARAMETER = "report"
"""The query parameter that names the report of a page, and the key under which a session remembers its last one."""

_VIEWS = 8
"""Kinds of users, by what they see, for whom lists are remembered."""
# Who waits for a query lets other pages run.
_ANSWERS = Answers(aside=script_queue.page_scripts.step_aside)
_QUESTIONS = SingleFlightCache(aside=script_queue.page_scripts.step_aside)
"""Answers of questions in SQL: one may be as large as all others together."""
_LAST = "last_report"
_SELECTED = "selected"


def settings() -> Settings:
    """The settings of this server."""
    return config.load()


def library() -> Library:
    """The library as the user of this session sees it; without a login one object, shared by all sessions.

    The inbox is there as soon as a page names it.
    """
    known = settings()
    whole = visitors.get_whole_library()
    if not known.inbox.is_dir():
        known.inbox.mkdir(parents=True, exist_ok=True)
    return whole.asked_by(access.get_visitor()) if login_cookie.has_login() else whole


def editing() -> Library:
    """The library, for whoever may change it: every change by a page goes through this.

    Raises:
        NotAllowedError: the user may look only.
    """
    access.require_editor()
    return library()


def administering() -> Library:
    """The library, for whoever may see the audit and say who may what.

    Raises:
        NotAllowedError: the user is no admin.
    """
    access.require_admin()
    return library()


def reports() -> list[Manifest]:
    """All reports, the newest first; read again only when the catalog has changed."""
    return list(_reports(*_shown()))


@lasting(maxsize=_VIEWS)
def _reports(folder: Path, version: tuple[int, int], kind: object) -> tuple[Manifest, ...]:  # noqa: ARG001 (part of the key)
    return tuple(library().list())


def _shown() -> tuple[Path, tuple[int, int], object]:
    """What lists go by: the library, its version, and what the user of this session sees of it."""
    shelf = library()
    return shelf.folder, shelf.catalog.version(), shelf.catalog.visibility.cache_key()


def jobs() -> list[Job]:
    """All files that were ever taken up, the last change first; read again only when one of them has changed."""
    shelf = library()
    return list(_jobs(shelf.folder, shelf.catalog.version_of_files(), shelf.catalog.visibility.cache_key()))


@lasting(maxsize=_VIEWS)
def _jobs(folder: Path, version: tuple[int, ...], kind: object) -> tuple[Job, ...]:  # noqa: ARG001 (part of the key)
    return tuple(library().catalog.jobs())


def labels() -> dict[str, list[str]]:
    """Labels by report id, sorted; read again only when the catalog has changed."""
    return dict(_labels(*_shown()))


@lasting(maxsize=_VIEWS)
def _labels(folder: Path, version: tuple[int, int], kind: object) -> dict[str, list[str]]:  # noqa: ARG001 (part of the key)
    return library().catalog.labels()


def links(to: Partner = "ncu") -> dict[str, str]:
    """The id of the Compute report, or of the trace, of each Systems report that is linked to one."""
    return dict(_links(*_shown(), to))


@lasting(maxsize=2 * _VIEWS)
def _links(folder: Path, version: tuple[int, int], kind: object, to: Partner) -> dict[str, str]:  # noqa: ARG001 (part of the key)
    return library().catalog.links.all(to)


def board() -> Board:
    """The series of the library; read again only when a report, a summary, a rule or what people said has changed."""
    shelf = library()
    rules = settings().series
    versions = (shelf.catalog.version(), summaries_of(shelf).version(), request.stamp(rules) if rules else 0)
    with script_queue.page_scripts.step_aside():
        return _board(shelf.folder, versions, shelf.catalog.visibility.cache_key())


@lasting(maxsize=_VIEWS)
def _board(folder: Path, versions: tuple[Any, ...], kind: object) -> Board:  # noqa: ARG001 (part of the key)
    found = Board(library())
    _ = found.listed
    return found


def systems_of(report_id: str, to: Partner = "ncu") -> list[Manifest]:
    """The Systems reports that are linked to this Compute report or trace, the newest first."""
    linked = links(to)
    return [one for one in reports() if linked.get(one.id) == report_id]


def report(subject: Subject | None = None) -> Manifest:
    """The report of this page: what the address names (id, unique prefix or file name), else the usual one.

    Raises:
        ReportNotFoundError: the address names none or several, or there is none about that.
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
    """The report where the address names none: the session's last one, else the newest; all about ``subject``."""
    fitting = [r for r in reports() if subject is None or subject in r.subjects]
    last = st.session_state.get(_LAST)
    return next((r for r in fitting if r.id == last), fitting[0] if fitting else None)


def about(subject: Subject, without: str = "") -> dict[str, Manifest]:
    """The reports about a subject by their ids, the newest first: what a page offers beside its own, ``without`` it."""
    return {one.id: one for one in reports() if subject in one.subjects and one.id != without}


def named(parameter: str, among: Mapping[str, Manifest]) -> list[str]:
    """The ids of those of some reports that the address names: by id, unique prefix of one, or file name."""
    ids = []
    for text in st.query_params.get_all(parameter):
        with suppress(ReportNotFoundError):
            ids.append(find(among.values(), text).id)
    return list(dict.fromkeys(ids))


def remember(manifest: Manifest) -> None:
    """Makes a report the session's last one and writes it into the address, unless that names it in another way."""
    st.session_state[_LAST] = manifest.id
    if named(PARAMETER, {manifest.id: manifest}) != [manifest.id]:
        st.query_params[PARAMETER] = manifest.id


def select(report_id: str, params: Mapping[str, Any]) -> None:
    """Makes ``run`` look at a part of this report (profiledb.selection) until the next call; see selecting.settle."""
    st.session_state[_SELECTED] = (report_id, dict(params))


def selected(report_id: str) -> dict[str, Any]:
    """The parameters of the selection of this report; none where it is the whole."""
    of, params = st.session_state.get(_SELECTED, ("", {}))
    return dict(params) if of == report_id else {}


def run(report_id: str, name: str, /, **params: Any) -> pd.DataFrame:
    """Runs an analysis on the selected part of a report; parameters that are given win over those of the selection.

    See profiledb.query.analysis.run for the result and the errors, and ``whole`` for the cache.
    """
    return whole(report_id, name, **header.get(name).taken(selected(report_id)) | params)


def whole(report_id: str, name: str, /, **params: Any) -> pd.DataFrame:
    """Runs an analysis with these parameters alone, whatever is selected.

    Answers are those of all sessions (profiledb.query.answer_cache), and of the server before
    (profiledb.query.answer_store).
    """
    shelf = library()
    if not shelf.is_here(report_id):
        with script_queue.page_scripts.step_aside():
            shelf.fetch(report_id)
    return _ANSWERS.answer(shelf, request.build(shelf, report_id, name, params))


def key(report_id: str, version: str, params: Mapping[str, Any], more: Hashable = ()) -> Key:
    """Return the key of a value that pages work out from several answers about a report (``request.key``).

    Args:
        report_id: the report.
        version: what is worked out, and the version of the rules that it goes by.
        params: the selection.
        more: what else the value depends on.
    """
    every = {"trace": links("trace"), **digest.links(links)}
    partners = {kind: ids[report_id] for kind, ids in every.items() if report_id in ids}
    return request.key(library(), report_id, version, (model.parse(params), more), partners)


def worked_out(key: Key, make: Callable[[], Value]) -> Value:
    """Return what ``make`` works out from reports, once for all sessions and a copy each; other pages run meanwhile."""
    return _ANSWERS.cache.copy_of(key, make)


def asked(key: Key, make: Callable[[], Value]) -> Value:
    """Return the answer of a question in SQL in the same way; why a question was refused is kept, too."""
    return _QUESTIONS.copy_of(key, make, keep=AnalysisError)


def answers_bytes() -> int:
    """Return the bytes of the answers in memory, and of what is worked out from several of them."""
    return _ANSWERS.cache.bytes


def questions_bytes() -> int:
    """Return the bytes of the answers of questions in SQL in memory."""
    return _QUESTIONS.bytes


def has_sidecar(report_id: str, kind: sidecar.Kind) -> bool:
    """Whether the program of a report left a file of this kind beside it."""
    return library().has_sidecar(report_id, kind)


def has_answer(report_id: str, name: str) -> bool:
    """Whether an analysis of the whole report, asked nothing in particular, has a row."""
    try:
        return not whole(report_id, name).empty
    except WarpdeckError:
        return False


def missing(report_id: str) -> list[Capture]:
    """What a report does not have, and how it would be captured."""

    def read() -> list[Capture]:
        with library().cursor(report_id, views=views.needed(captures.INCLUDES)) as cursor:
            return captures.missing(cursor)

    return worked_out(key(report_id, "captures", {}), read)


def to_record(report_id: str, table: str) -> str:
    """The command or option that fills a table which a report lacks; none where it was used, or where nothing does."""
    return next((one.flag for one in missing(report_id) if one.table == table), "")
