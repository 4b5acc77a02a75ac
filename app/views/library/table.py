"""The dense table of reports: clicking a row selects it, Open goes to the report's first page."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from app.ui import cell_text, judged_findings, name_card, page_elements, short_names, tables
from app.ui import format as fmt
from profiledb.findings.digest import Found
from profiledb.library.catalog import Manifest
from profiledb.library.report_list import OLDER, get_kind

ROW_PX = 34
_BORDERS_PX = 2
SCREEN = 18
"""Rows that fit on a screen; a longer table scrolls."""
SAMPLE = "sample"
LINKED = "linked"
_NAMED = ("Name", "Worst finding", "GPU")
"""Columns whose long cells are truncated; the card shows them in full."""
COLUMNS = {
    "open": ("Open", 56), "name": ("Name", 230), "worst": ("Worst finding", 152), "kind": ("Kind", 112),
    "gpu": ("GPU", 116), "captured": ("Captured (UTC)", 126), "duration": ("Duration", 70),
    "kernels": ("Kernels", 76), "size": ("Size", 66), "labels": ("Labels", 80),
}  # fmt: skip
"""Heading and width in pixels of each column."""
_NAME_LETTERS = 29
_GPU_LETTERS = 15
_FINDING_LETTERS = 21
_SHOWN = "library-shown"
_FAMILY = re.compile(r"(^|(?<=\d x ))(NVIDIA )?((GeForce|Tesla) )?")


def shorten_gpu(name: Any) -> str:
    """Shorten a GPU name to fit its column: drop vendor and family, and truncate in the middle."""
    return fmt.shortened(_FAMILY.sub("", tables.format_cell(name)), _GPU_LETTERS)


def cut_finding(finding: Any) -> str:
    """Shorten a finding to fit its column: its first words tell it."""
    shown = tables.format_cell(finding)
    return shown if len(shown) <= _FINDING_LETTERS else f"{shown[: _FINDING_LETTERS - 1].rstrip()}…"


_WORDS: Any = {"duration": fmt.duration, "size": fmt.bytes_, "gpu": shorten_gpu, "worst": cut_finding}

Texts = Mapping[str, Sequence[str]]
"""Text by report id."""
Known = Mapping[str, Sequence[Found]]
"""The findings of each judged report, by report id."""
NOTHING = "Nothing costs time"
PREPARING = "Being prepared"
UNJUDGED = {True: "Being judged", False: "Not judged yet"}
"""Text of an unjudged report, by whether an importer runs: it judges reports when they are in."""


def build_frame(
    reports: Sequence[Manifest], labels: Texts, partners: Texts, known: Known, *, judging: bool = False
) -> pd.DataFrame:
    """Build a row per report: open, name, worst, kind, gpu, captured (UTC), duration (ns), kernels, size (B), labels.

    Warpdeck's own labels precede the users' labels: sample, linked report, imported by an older version.
    """
    rows = [
        {
            "open": "Open",
            "name": fmt.visible(r.shown_name),
            "worst": _describe_state(r) or choose_worst(known.get(r.id)) or UNJUDGED[judging],
            "kind": page_elements.get_kind_title(get_kind(r)),
            "gpu": fmt.visible(r.gpu) or None,
            "captured": r.captured_at,
            "duration": r.duration_ns or None,
            "kernels": r.rows.get("kernel") or r.rows.get("ncu_launch"),
            "size": r.source_bytes,
            "labels": [
                *([SAMPLE] * r.sample + [LINKED] * (r.id in partners) + [OLDER] * r.is_older),
                *labels.get(r.id, ()),
            ],
        }
        for r in reports
    ]
    listed = pd.DataFrame(rows)
    listed["captured"] = pd.to_datetime(listed["captured"], utc=True, errors="coerce", format="ISO8601")
    for name in ("duration", "kernels", "size"):
        listed[name] = pd.to_numeric(listed[name]).astype("Int64")
    return listed


def _describe_state(report: Manifest) -> str:
    """Return why a report has no findings yet; empty for one that is complete and of this version."""
    return OLDER.capitalize() if report.is_older else PREPARING if report.preparing else ""


def choose_worst(every: Sequence[Found] | None) -> str | None:
    """Return the costliest finding with its severity; None if the report has not been judged."""
    if every is None:
        return None
    first = next((one for one in every if one.costs), None)
    if first is None:
        return NOTHING
    rule = judged_findings.read_rules().get(first.rule)
    return f"{judged_findings.TITLES[first.severity]}: {fmt.visible(rule.title if rule else first.rule)}"


def draw_reports(
    reports: Sequence[Manifest], labels: Texts, partners: Texts, known: Known, *, growing: bool, judging: bool
) -> list[Manifest]:
    """Draw the table, open the report whose button was pressed, and return the selected reports.

    Args:
        reports: the rows.
        labels: labels of each report.
        partners: names of the reports linked to each report.
        known: findings of each judged report.
        growing: whether more rows will come, so that the table takes the height of a full one.
        judging: whether an importer runs, which judges reports.
    """
    rows = build_frame(reports, labels, partners, known, judging=judging)
    turn = _find_turn([r.id for r in reports])
    names = short_names.tell_apart(rows["name"], _NAME_LETTERS)
    event: Any = st.dataframe(
        cell_text.make_styler(rows, _WORDS | {"name": names.__getitem__}),
        height=(SCREEN if growing else min(len(rows) + 1, SCREEN)) * ROW_PX + _BORDERS_PX,
        row_height=ROW_PX,
        hide_index=True,
        column_config=tables.fit_columns(
            _configure_columns(rows, turn), {name: px for name, (_, px) in COLUMNS.items()}
        ),
        key=f"library-{turn}",
        on_select="rerun",
        selection_mode="multi-row",
        placeholder=fmt.MISSING,
    )
    name_card.add_card(
        f"library-{turn}",
        names=_NAMED,
        widths=dict(COLUMNS.values()),
        row_px=ROW_PX,
        whole={},
        opens=False,
        boxes=True,
    )
    if click := st.session_state.get(f"open-{turn}"):
        page_elements.open_report(reports[click["row"]])
    return [reports[row] for row in event.selection.rows if row < len(reports)]


def _find_turn(ids: Sequence[str]) -> str:
    """Return the key of a table with these rows: a new one unless rows were only added at the end.

    A selection by position must not shift to other reports, and a table that grows keeps its selection.
    """
    shown: tuple[tuple[str, ...], str] = st.session_state.get(_SHOWN, ((), ""))
    before, turn = shown
    if not turn or tuple(ids[: len(before)]) != before:
        turn = hashlib.sha256("".join(ids).encode()).hexdigest()[:12]
    st.session_state[_SHOWN] = (tuple(ids), turn)
    return turn


def _configure_columns(rows: pd.DataFrame, turn: str) -> dict[str, Any]:
    config = st.column_config
    labels = sorted({label for row in rows["labels"] for label in row} | {SAMPLE, LINKED, OLDER})
    made: dict[str, Any] = {
        "open": partial(config.ButtonColumn, type="tertiary", key=f"open-{turn}"),
        "name": config.TextColumn,
        "worst": partial(
            config.TextColumn,
            help="The finding that costs most, with the selection that pages open with.",
        ),
        "kind": config.TextColumn,
        "gpu": config.TextColumn,
        "captured": partial(config.DatetimeColumn, format="YYYY-MM-DD HH:mm", timezone="UTC"),
        "duration": config.NumberColumn,
        "kernels": partial(config.NumberColumn, format="%,d", help="Kernel launches in the report"),
        "size": partial(config.NumberColumn, help="Size of the report file"),
        "labels": partial(config.MultiselectColumn, options=labels, color="gray"),
    }
    return {name: made[name](title, width=px) for name, (title, px) in COLUMNS.items()}
