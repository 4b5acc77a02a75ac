"""Attention time by length, from one report or several, with the fitted exponent of its growth."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from app import session
from app.ui import chart_element, size_charts, table_columns, tables, theme
from app.ui import format as fmt
from app.ui.size_charts import Line
from app.views.attention.tables import PARTS
from profiledb.errors import WarpdeckError
from profiledb.library.catalog import TIMELINE, Manifest

WITH = "with"
"""URL parameter with the other reports."""
PANELS = 4
"""Maximum number of variants drawn, by time."""
_FORMULA = (
    "time = c · tokens^exponent. The exponent is the least-squares slope of log(time) over log(length), Σ(x −"
    " x̄)(y − ȳ) ÷ Σ(x − x̄)², from at least three lengths."
)
_NAMES = ("scores", "softmax", "output")
FIT_COLUMNS = table_columns.choose_columns(
    "attention_parts",
    table_columns.use("variant", width=230),
    table_columns.use("part", name="title", width=130),
    table_columns.Col("lengths", "Lengths", kind="count"),
    table_columns.Col("exponent", "Exponent", kind="number", help="Empty with fewer than three lengths"),
    table_columns.Col("shortest", "Shortest", kind="duration", help="Time per attention at the fewest tokens"),
    table_columns.Col("longest", "Longest", kind="duration", help="Time per attention at the most tokens"),
)


def draw_length(manifest: Manifest, rows: pd.DataFrame, params: Mapping[str, Any]) -> None:
    """Draw the section; ``rows`` and ``params`` are the result and the parameters of ``attention_parts``."""
    st.subheader("By length", anchor=False)
    frames = [rows.assign(report=manifest.name)]
    for other in _choose_others(manifest):
        frames += _read_parts(other, params)
    measure = "cpu_ns" if rows["kernel_ns"].isna().all() else "kernel_ns"
    drawn = split_lines(pd.concat(frames, ignore_index=True), measure)
    if len({t for line in drawn for t in line.tokens}) < 2:
        st.caption(
            "One length shows no growth. Ranges called tokens_512, a payload, or NAME.meta.json give the"
            " length. Add reports of other lengths above."
        )
        return
    _draw_lengths(drawn, host=measure == "cpu_ns")


def _draw_lengths(drawn: list[Line], *, host: bool) -> None:
    total: dict[str, float] = {}
    for line in drawn:
        total[line.variant] = total.get(line.variant, 0) + sum(line.ns)
    most = sorted(total, key=lambda name: -total[name])[:PANELS]
    shown = [line for line in drawn if line.variant in most]
    figure = size_charts.plot_family(shown, theme.get_theme())
    chart_element.draw_chart(figure, "attention-length")
    if len(total) > PANELS:
        st.caption(f"The {PANELS} variants with the most time are drawn, of {len(total)}.")
    st.caption(fmt.plain(_FORMULA + (" Times are CPU times." if host else "")))
    tables.draw_table(fits(drawn), FIT_COLUMNS, key="attention-fits", download="attention_exponents.csv")


def split_lines(rows: pd.DataFrame, measure: str) -> list[Line]:
    """Return one line per variant and part: the time of one attention at each known length."""
    known = rows.dropna(subset=["tokens", measure])
    known = known[known["calls"] > 0].assign(variant=known["variant"].fillna("no range"))
    result = []
    for (variant, part), group in known.groupby(["variant", "part"], sort=False):
        ns = (group[measure].astype(float) / group["calls"].astype(float)).tolist()
        tokens = tuple(int(value) for value in group["tokens"])
        result.append(Line(str(variant), str(part), tokens, tuple(ns), tuple(group["report"])))
    return sorted(result, key=lambda line: (line.variant, list(PARTS).index(line.part)))


def fits(drawn: list[Line]) -> pd.DataFrame:
    """Return one row per line: its number of lengths, its exponent, and the times at both ends (ns)."""
    rows = []
    for line in drawn:
        ends = [line.ns[line.tokens.index(length)] for length in (min(line.tokens), max(line.tokens))]
        exponent = size_charts.fit(line.tokens, line.ns)
        rows.append((line.variant, PARTS[line.part], len(set(line.tokens)), exponent, *ends))
    names = ["variant", "title", "lengths", "exponent", "shortest", "longest"]
    return pd.DataFrame(rows, columns=names).astype({"exponent": "Float64"})


def _choose_others(manifest: Manifest) -> list[Manifest]:
    """Draw the selector for other reports; return those that the URL names."""
    known = session.list_about(TIMELINE, without=manifest.id, named_by=WITH)
    asked = session.read_named(WITH, known)
    key = "attention-with"
    st.session_state[key] = asked
    if known:
        st.multiselect(
            "Other reports", list(known), key=key, width=520,
            placeholder="Add reports of other lengths", on_change=_write_chosen,
            format_func=lambda report_id: fmt.visible(known[report_id].shown_name), args=(key,),
            label_visibility="collapsed",
        )  # fmt: skip
    return [known[report_id] for report_id in asked]


def _write_chosen(key: str) -> None:
    if chosen := st.session_state[key]:
        st.query_params[WITH] = chosen
    else:
        st.query_params.pop(WITH, None)


def _read_parts(other: Manifest, params: Mapping[str, Any]) -> list[pd.DataFrame]:
    """Return the parts of another report without its warm-up; show a message if there are none."""
    names = {key: value for key, value in params.items() if key in _NAMES}
    try:
        rows = session.run_whole(other.id, "attention_parts", mode="process", warmup="exclude", **names)
    except WarpdeckError as error:
        st.caption(f"{fmt.plain(other.shown_name)}: {fmt.plain(error.message)}")
        return []
    if rows["tokens"].isna().all():
        why = "it has no ranges of these parts" if rows.empty else "its length is unknown"
        st.caption(f"{fmt.plain(other.shown_name)} is excluded: {why}.")
        return []
    return [rows.assign(report=other.name)]
