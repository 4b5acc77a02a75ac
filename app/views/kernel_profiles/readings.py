"""Warpdeck's reading of one launch: speed of light, stalls, memory, launch shape, and instruction mix."""

from typing import Any

import pandas as pd
import streamlit as st

from app.ui import chart_element, column_pair, theme, verdicts
from app.ui import format as fmt
from app.views.kernel_profiles import charts, elements, occupancy, sentences
from profiledb import words

THRESHOLDS = (0, 60, 80, 100)
"""Percentages at which the verdict changes, plus both ends of the scale."""
MOST_WAVEFRONTS = 32
"""Most wavefronts that one shared-memory request of a warp can take."""
UNITS, STALLS, EXPLAINED, PIPES, OPCODES = 5, 8, 3, 8, 8


def draw_readings(report_id: str, launch: "pd.Series[Any]") -> None:
    """Draw Warpdeck's reading of one launch (a row of ``ncu_speed_of_light``)."""
    number = int(launch["launch_id"])
    st.caption("Warpdeck's own reading of the counters. The rules of ncu are under Rules.")
    limits = elements.run_of_launch(report_id, "ncu_limits", number).iloc[0]
    if verdict := verdicts.describe_verdict(limits.to_dict()):
        st.markdown(f"**{fmt.plain(verdict)}**")
    left, right = column_pair.pair("limits")
    with left:
        _draw_light(report_id, launch)
    with right:
        _draw_stalls(elements.run_of_launch(report_id, "ncu_stalls", number))
    occupancy.draw_occupancy(report_id, number)
    left, right = column_pair.pair("memory")
    with left:
        _draw_memory(elements.run_of_launch(report_id, "ncu_memory", number))
    with right:
        _draw_shape(elements.run_of_launch(report_id, "ncu_launch_shape", number).iloc[0])
        _draw_mix(elements.run_of_launch(report_id, "ncu_instruction_mix", number))


def _draw_light(report_id: str, launch: "pd.Series[Any]") -> None:
    st.markdown("**Speed of light**")
    sides = (("Compute", "compute_pct"), ("Memory", "memory_pct"))
    caches = (("L1", "l1_pct"), ("L2", "l2_pct"), ("DRAM", "dram_pct"))
    rows = [
        charts.Bar(title, amount, fmt.percent(amount), quiet=(title, name) in caches)
        for title, name in (*sides, *caches)
        if (amount := fmt.number(launch[name])) is not None
    ]
    if rows:
        chart_element.draw_chart(charts.plot_bars(rows, theme.get_theme(), ticks=THRESHOLDS), "light")
    if launch["verdict"] != words.NOT_MEASURED:
        st.markdown(verdicts.choose_advice(launch["verdict"]))
    else:
        elements.draw_lacking(f"Not measured: {fmt.plain(launch['reason'])}.", "light")
    _draw_breakdown(elements.run_of_launch(report_id, "ncu_breakdown", int(launch["launch_id"])))


def _draw_breakdown(rows: pd.DataFrame) -> None:
    """Draw the busiest units behind compute and memory throughput; nothing if the report does not list them."""
    for side in ("compute", "memory") if len(rows) else ():
        top = rows[rows["side"] == side].head(UNITS)
        if top.empty:
            continue
        st.caption(f"Busiest units behind {side}")
        parts = [
            charts.Bar(sentences.find_unit(row["metric"]), row["pct"], fmt.percent(row["pct"]))
            for _, row in top.iterrows()
        ]
        chart_element.draw_chart(charts.plot_bars(parts, theme.get_theme()), f"breakdown-{side}")


def _draw_stalls(rows: pd.DataFrame) -> None:
    st.markdown("**What warps wait for**")
    if rows.empty:
        elements.draw_lacking("No warp states in this report.", "stalls")
        return
    sampled = bool(rows["share_pct"].isna().all())
    value = "samples_pct" if sampled else "share_pct"
    top = rows[rows[value].fillna(0) > 0].head(STALLS)
    parts = [
        charts.Bar(
            sentences.get_stall_title(row["reason"]),
            float(row[value]),
            fmt.percent(row[value]) if sampled else f"{fmt.percent(row[value])}, {row['cycles_per_issue']:.1f} cycles",
            quiet=row["reason"] == sentences.SELECTED,
        )
        for _, row in top.iterrows()
    ]
    chart_element.draw_chart(charts.plot_bars(parts, theme.get_theme(), whole=False), "stalls")
    st.caption(_explain_latency(rows, sampled=sampled))
    stalls = top[top["reason"] != sentences.SELECTED].head(EXPLAINED)
    for reason in stalls["reason"]:
        if reason in sentences.STALLS:
            st.markdown(f"**{sentences.get_stall_title(reason)}**: {sentences.STALLS[reason]}")


def _explain_latency(rows: pd.DataFrame, *, sampled: bool) -> str:
    """Say what the stall bars are shares of."""
    samples = fmt.number(rows["samples"].sum(min_count=1))
    sample_note = f" {fmt.count(samples)} program counter samples." if samples else ""
    if sampled:
        return f"Share of{sample_note.rstrip('.')}. Latencies need --section {sentences.SECTIONS['stalls']}."
    return (
        f"Share of the {rows['latency_cycles'].iloc[0]:.1f} cycles between two instructions of a warp, and"
        f" cycles per issued instruction.{sample_note}"
    )


def _draw_memory(rows: pd.DataFrame) -> None:
    st.markdown("**Memory**")
    known = rows[rows["value"].notna()]
    with st.container(key="ncu-memory"):
        elements.draw_text_table(
            [
                ("" if again else row["part"], row["figure"], _format_figure(row))
                for (_, row), again in zip(known.iterrows(), known["part"].duplicated(), strict=True)
            ]
        )
    if (known["value"][known["figure"].str.startswith("Wavefronts")] > MOST_WAVEFRONTS).any():
        st.caption(
            f"More than {MOST_WAVEFRONTS} wavefronts per request come from bulk copies and matrix stores, which"
            " count as wavefronts but not as requests."
        )
    caches = rows["part"].isin(["L1", "L2", "DRAM"])
    own = caches & (rows["figure"] != "Throughput (% of peak)")  # throughput comes from another section, SpeedOfLight
    lacks = [part for part, those in (("memory", own), ("tables", ~caches)) if rows[those]["value"].isna().all()]
    if lacks:
        what = {"memory": "hit rates and traffic", "tables": "global, shared and local accesses"}
        elements.draw_lacking(f"Not in this report: {'; '.join(what[part] for part in lacks)}.", *lacks)


def _format_figure(row: "pd.Series[Any]") -> str:
    """Format a memory figure with as few digits as the bars; the Sections view has ncu's own precision."""
    return fmt.percent(row["value"]) if row["unit"] == "%" else sentences.format_quantity(row["value"], row["unit"])


def _draw_shape(shape: "pd.Series[Any]") -> None:
    """Draw grid, block, waves and tail, and the active threads per warp."""
    st.markdown("**Launch**")
    cluster = fmt.number(shape["cluster_size"])
    rows = [
        ("Grid", _format_known(shape["grid"]), f"{fmt.count(shape['grid_size'])} blocks"),
        ("Block", _format_known(shape["block"]), f"{fmt.count(shape['block_size'])} threads"),
        ("Clusters", {None: fmt.MISSING, 0.0: "none"}.get(cluster, f"{fmt.count(cluster)} blocks each"), ""),
        ("Waves", _format_number(shape["waves"]), _explain_waves(shape)),
        ("Threads active", _format_per_warp(shape["threads_active"]), "of 32 in a warp, on average"),
        ("Not predicated off", _format_per_warp(shape["threads_predicated_on"]), "of 32"),
    ]
    elements.draw_text_table([row for row in rows if row[1] != fmt.MISSING])
    lacks = [part for part, name in (("launch", "waves"), ("divergence", "threads_active")) if pd.isna(shape[name])]
    if lacks:
        what = {"launch": "waves", "divergence": "active threads"}
        elements.draw_lacking(f"Not in this report: {'; '.join(what[part] for part in lacks)}.", *lacks)


def _explain_waves(shape: "pd.Series[Any]") -> str:
    """Interpret the number of waves: a grid that does not fill the GPU, a tail, or neither."""
    waves, last, tail = (fmt.number(shape[name]) for name in ("waves", "last_wave_pct", "tail_pct"))
    if waves is None:
        return ""
    if waves < 1:
        return f"the grid fills {fmt.percent(last)} of the GPU"
    if not tail:
        return "all of them full"
    return f"the last is {fmt.percent(last)} full and takes up to {fmt.percent(tail)} of the time"


def _draw_mix(rows: pd.DataFrame) -> None:
    st.markdown("**Instruction mix**")
    form = _choose_form(rows) if len(rows) else None
    if form:
        kind, column = form
        pipes = rows[rows["kind"] == kind].dropna(subset=[column]).sort_values(column, ascending=False, kind="stable")
        used = pipes[pipes[column] > 0].head(PIPES)
        parts = [
            charts.Bar(sentences.get_pipe_title(name), amount, fmt.percent(amount))
            for name, amount in zip(used["name"], used[column].astype(float), strict=True)
        ]
        chart_element.draw_chart(charts.plot_bars(parts, theme.get_theme()), "pipes")
        what = "issued instructions" if kind == "pipe_instructions" else "busy cycles"
        cycles = "cycles in which the SM was active" if column == "active_pct" else "all cycles"
        st.caption(f"Pipes by {what}, share of peak, {cycles}.")
    else:
        elements.draw_lacking("No pipe utilization in this report.", "pipes")
    _draw_opcodes(rows[rows["kind"] == "opcode"] if len(rows) else rows)


def _choose_form(rows: pd.DataFrame) -> tuple[str, str] | None:
    """Choose the kind and column of ``ncu_instruction_mix`` to draw: the first with the ALU, else with any pipe."""
    forms = [
        (kind, column, set(rows["name"][(rows["kind"] == kind) & rows[column].notna()]))
        for kind in ("pipe_instructions", "pipe_cycles")
        for column in ("active_pct", "elapsed_pct")
    ]
    some = [form for form in forms if "alu" in form[2]] or [form for form in forms if form[2]]
    return some[0][:2] if some else None


def _draw_opcodes(rows: pd.DataFrame) -> None:
    """Draw the most frequent opcodes, if the report counted them. The pipes alone give most of the picture."""
    if rows.empty:
        return
    parts = [
        charts.Bar(
            row["name"],
            row["share_pct"],
            f"{fmt.percent(row['share_pct'])}, {sentences.format_count(row['instructions'])}",
        )
        for _, row in rows.head(OPCODES).iterrows()
    ]
    chart_element.draw_chart(charts.plot_bars(parts, theme.get_theme(), whole=False), "opcodes")
    st.caption("Executed instructions by opcode, share of all.")


def _format_known(text: object) -> str:
    return text if isinstance(text, str) else fmt.MISSING


def _format_number(value: object) -> str:
    amount = fmt.number(value)
    return fmt.MISSING if amount is None else f"{amount:,.2f}"


def _format_per_warp(value: object) -> str:
    amount = fmt.number(value)
    return fmt.MISSING if amount is None else f"{amount:.1f}"
