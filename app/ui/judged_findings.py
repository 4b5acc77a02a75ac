"""The findings of a report for pages, judged once per selection, and their text."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from app import session
from profiledb.findings import digest, judge, rulebook, sentences
from profiledb.findings.digest import Found
from profiledb.findings.finding import Finding
from profiledb.findings.rule import Rule
from profiledb.library.catalog import Manifest
from profiledb.studies.summary import answers
from profiledb.studies.verdicts import judge_and_share

TITLES = {"high": "High", "medium": "Medium", "low": "Low", "warning": "Warning", "note": "Note"}
"""Display title of each severity."""
JUDGING = "Judging the report…"
"""Text while a report is judged that nobody has prepared: seconds for a large one."""
_STARTUP = "findings-startup"
"""Widget key of the toggle that includes start-up."""
_STARTUP_TOO = "Findings judge the whole selection, start-up included."
_BADGES = {"high": "red", "medium": "orange", "low": "gray", "warning": "orange", "note": "gray"}


def read_rules() -> dict[str, Rule]:
    """Return this server's rules by name."""
    folder = session.get_settings().rules
    return dict(_load_rules(folder, _stamp_folder(folder)))


def read_version() -> str:
    """Return the version of this server's rules, with which reports are judged."""
    return digest.hash_rules(read_rules().values())


def find_part(manifest: Manifest, params: Mapping[str, Any] | None = None) -> judge.Steady | None:
    """Return the steady part of a report's selection, or of ``params``; None if there is none."""
    params = session.read_selected(manifest.id) if params is None else params
    return judge.find_steady_part(
        session.library(), manifest, params, lambda name, given: session.run_whole(manifest.id, name, **given)
    )


def draw_covered(manifest: Manifest) -> judge.Steady | None:
    """Draw which part of the report the page covers, with a toggle to include start-up; return that part.

    Without a steady part nothing is drawn, and the result is None.
    """
    steady = find_part(manifest)
    if steady is None:
        return None
    startup = st.session_state.get(_STARTUP, False)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(_STARTUP_TOO if startup else sentences.describe_judged(steady), width="content")
        st.toggle("Judge start-up too", key=_STARTUP)
    return None if startup else steady


def choose_part(manifest: Manifest) -> judge.Steady | None:
    """Return the result of ``covered``, for a page that draws it further down."""
    return None if st.session_state.get(_STARTUP, False) else find_part(manifest)


def make_ask(manifest: Manifest, steady: judge.Steady | None) -> Callable[..., pd.DataFrame]:
    """Return a function that runs an analysis by name on the steady part, or on the selection if there is none."""
    if steady is None:
        return partial(session.run, manifest.id)
    return lambda name, **params: session.run(manifest.id, name, **answers.restrict_params(steady, name) | params)


def judge_report(
    manifest: Manifest, params: Mapping[str, Any] | None = None, *, startup: bool = False
) -> list[Finding]:
    """Return the cached findings of a report's selection, or of ``params``, in the order of ``judge.judge``.

    Without ``startup`` they cover the steady part only, if there is one.
    """
    params = session.read_selected(manifest.id) if params is None else params
    every, library = read_rules().values(), session.library()
    steady = None if startup else find_part(manifest, params)
    key = session.make_key(manifest.id, digest.hash_rules(every), params, steady)
    return session.work_out(key, lambda: judge_and_share(library, manifest, params, every, steady))


def read_known(reports: Sequence[Manifest]) -> dict[str, tuple[Found, ...]]:
    """Return the findings of each already judged report, by id; this judges nothing."""
    every, library, links = read_rules(), session.library(), digest.read_links(session.read_links)
    library.look_at([one.id for one in reports])
    read = ((one.id, digest.read_digest(library, one.id, links, every)) for one in reports)
    return {report_id: findings for report_id, findings in read if findings is not None}


def format_badge(finding: Finding) -> str:
    """Return the severity as a badge (Markdown), or "" for a rule that does not fire."""
    severity = finding.severity
    return f":{_BADGES[severity]}-badge[{TITLES[severity]}]" if severity else ""


def format_sentence(finding: Finding) -> str:
    """Return the text of a finding (Markdown), with names from the report as code."""
    return sentences.says(finding)


@lru_cache(maxsize=4)  # several threads may load the same rules, which does no harm
def _load_rules(folder: Path | None, stamp: int) -> dict[str, Rule]:  # noqa: ARG001 (part of the key)
    return rulebook.load(folder)


def _stamp_folder(folder: Path | None) -> int:
    """Return a value that changes with the rules in a folder."""
    if folder is None:
        return 0
    return hash(tuple((str(file), file.stat().st_mtime_ns) for file in sorted(folder.rglob("*")) if file.is_file()))
