"""The findings of a report for pages: judged once for each selection, and their words."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from app import session
from app.once import Once
from profiledb.findings import digest, judge, rulebook, words
from profiledb.findings.digest import Found
from profiledb.findings.finding import Finding
from profiledb.findings.rule import Rule
from profiledb.report.catalog import Manifest

TITLES = {"high": "High", "medium": "Medium", "low": "Low", "warning": "Warning", "note": "Note"}
"""What people read for each severity."""
_BADGES = {"high": "red", "medium": "orange", "low": "gray", "warning": "orange", "note": "gray"}

# Some 300 KB each: every rule keeps its row as a frame.
_judged: Once[tuple[Finding, ...]] = Once(most=64)


def rules() -> dict[str, Rule]:
    """The rules of this server by name."""
    folder = session.settings().rules
    return dict(_rules(folder, _stamp(folder)))


def findings(manifest: Manifest, params: Mapping[str, Any] | None = None, *, startup: bool = False) -> list[Finding]:
    """The findings of the selected part of a report, or of another one, as ``judge.judge`` orders them; judged once.

    Without ``startup`` they are those of the steady part, where there is one.
    """
    params = session.selected(manifest.id) if params is None else params
    chosen = tuple(sorted((name, value if isinstance(value, str) else tuple(value)) for name, value in params.items()))
    every = rules().values()
    library = session.library()
    known = digest.key(library, manifest.id, session.links().get(manifest.id), every)
    key = (library.folder, manifest.id, known, chosen, startup)
    return list(_judged.get(key, lambda: tuple(judge.judge(library, manifest, params, every, steady=not startup))))


def known(reports: Sequence[Manifest]) -> dict[str, tuple[Found, ...]]:
    """What fires in each of these reports that was judged before, by id; nothing is judged for it."""
    every, library, links = rules(), session.library(), session.links()
    read = ((one.id, digest.read(library, one.id, links.get(one.id), every)) for one in reports)
    return {report_id: found for report_id, found in read if found is not None}


def badge(finding: Finding) -> str:
    """The severity as a badge (Markdown); of what does not fire nothing."""
    severity = finding.severity
    return f":{_BADGES[severity]}-badge[{TITLES[severity]}]" if severity else ""


def sentence(finding: Finding) -> str:
    """What a finding says (Markdown); names from the report stand as code in it."""
    return words.says(finding)


def bound(finding: Finding) -> str:
    """What mending it saves at most, beyond what its sentence says; nothing where that is not known."""
    saved = words.bound(finding)
    return f"Saves at most {saved}" if saved else ""


@st.cache_resource(show_spinner=False, max_entries=4)
def _rules(folder: Path | None, stamp: int) -> dict[str, Rule]:  # noqa: ARG001 (part of the key)
    return rulebook.load(folder)


def _stamp(folder: Path | None) -> int:
    """What changes with the rules of a folder."""
    if folder is None:
        return 0
    return hash(tuple((str(file), file.stat().st_mtime_ns) for file in sorted(folder.rglob("*")) if file.is_file()))
