"""The findings of a report for pages: judged once for each selection, and their words."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
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

TITLES = {"high": "High", "medium": "Medium", "low": "Low", "warning": "Warning", "note": "Note"}
"""What people read for each severity."""
_STARTUP = "findings-startup"
"""The key of the switch that has start-up judged, too."""
_STARTUP_TOO = "Findings judge the whole selection, start-up included."
_BADGES = {"high": "red", "medium": "orange", "low": "gray", "warning": "orange", "note": "gray"}


def rules() -> dict[str, Rule]:
    """The rules of this server by name."""
    folder = session.settings().rules
    return dict(_rules(folder, _stamp(folder)))


def part(manifest: Manifest, params: Mapping[str, Any] | None = None) -> judge.Steady | None:
    """What repeats in the selected part of a report, or in another one; None where nobody can tell."""
    params = session.selected(manifest.id) if params is None else params
    return judge.steady_part(
        session.library(), manifest, params, lambda name, given: session.whole(manifest.id, name, **given)
    )


def covered(manifest: Manifest) -> judge.Steady | None:
    """Draw which part of the report a page covers, and the switch that has it cover start-up, too; answer that part.

    Nothing is drawn, and the answer is None, where the report has no steady part.
    """
    steady = part(manifest)
    if steady is None:
        return None
    startup = st.session_state.get(_STARTUP, False)
    st.markdown(_STARTUP_TOO if startup else sentences.judged(steady))
    st.toggle("Judge start-up too", key=_STARTUP)
    return None if startup else steady


def asking(manifest: Manifest, steady: judge.Steady | None) -> Callable[..., pd.DataFrame]:
    """What runs an analysis by its name on the steady part, or on the selected part of a report without one."""
    if steady is None:
        return partial(session.run, manifest.id)
    return lambda name, **params: session.run(manifest.id, name, **answers.steady_params(steady, name) | params)


def findings(manifest: Manifest, params: Mapping[str, Any] | None = None, *, startup: bool = False) -> list[Finding]:
    """The findings of the selected part of a report, or of another one, as ``judge.judge`` orders them; judged once.

    Without ``startup`` they are those of the steady part, where there is one.
    """
    params = session.selected(manifest.id) if params is None else params
    every, library = rules().values(), session.library()
    steady = None if startup else part(manifest, params)
    key = session.key(manifest.id, digest.version(every), params, steady)
    return session.worked_out(key, lambda: judge.judge(library, manifest, params, every, steady))


def known(reports: Sequence[Manifest]) -> dict[str, tuple[Found, ...]]:
    """What fires in each of these reports that was judged before, by id; nothing is judged for it."""
    every, library, links = rules(), session.library(), digest.links(session.links)
    read = ((one.id, digest.read(library, one.id, links, every)) for one in reports)
    return {report_id: found for report_id, found in read if found is not None}


def badge(finding: Finding) -> str:
    """The severity as a badge (Markdown); of what does not fire nothing."""
    severity = finding.severity
    return f":{_BADGES[severity]}-badge[{TITLES[severity]}]" if severity else ""


def sentence(finding: Finding) -> str:
    """What a finding says (Markdown); names from the report stand as code in it."""
    return sentences.says(finding)


def bound(finding: Finding) -> str:
    """What mending it saves at most, beyond what its sentence says; nothing where that is not known."""
    saved = sentences.bound(finding)
    return f"Saves at most {saved}" if saved else ""


@st.cache_resource(show_spinner=False, max_entries=4)
def _rules(folder: Path | None, stamp: int) -> dict[str, Rule]:  # noqa: ARG001 (part of the key)
    return rulebook.load(folder)


def _stamp(folder: Path | None) -> int:
    """What changes with the rules of a folder."""
    if folder is None:
        return 0
    return hash(tuple((str(file), file.stat().st_mtime_ns) for file in sorted(folder.rglob("*")) if file.is_file()))
