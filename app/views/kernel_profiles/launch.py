"""One launch of a Compute report: key figures, Warpdeck's reading, ncu's rule messages, and all metrics."""

from typing import Any

import pandas as pd
import streamlit as st

from app import session
from app.ui import column_pair, page_elements, profile_links, table_columns, tables, url_widgets
from app.ui import format as fmt
from app.views.kernel_profiles import compare, readings, sentences
from profiledb.errors import NotCapturedError

READING, RULES, SECTIONS, METRICS, COMPARE = "Reading", "Rules", "Sections", "All metrics", "Compare"
TYPES = {"OPT": "to improve", "INF": "to know", "WRN": "warning", "ERR": "rule failed"}
DETAIL_COLUMNS = table_columns.list_shown("ncu_details")
METRIC_COLUMNS = table_columns.list_shown("ncu_metrics")


PARTS = (READING, RULES, SECTIONS, METRICS, COMPARE)


def draw_launch(report_id: str, launch: "pd.Series[Any]", rows: pd.DataFrame) -> None:
    """Draw the details of one launch (a row of ``ncu_speed_of_light``); ``rows`` are all launches of the report."""
    number = int(launch["launch_id"])
    st.subheader(f"Launch {number}: {fmt.plain(launch['name'])}", anchor=False)
    if launch["kernel"] != launch["name"]:
        st.code(fmt.visible(launch["kernel"]), language=None, wrap_lines=True)
    if isinstance(launch["nvtx"], str):
        st.caption(f"In {fmt.plain(launch['nvtx'])}")
    profile_links.to_kernels(report_id, launch)
    _draw_facts(launch)
    part = st.segmented_control(
        "Show",
        PARTS,
        **url_widgets.bind_option("show", PARTS, READING),
        label_visibility="collapsed",
        required=True,
    )
    try:
        if part == READING:
            readings.draw_readings(report_id, launch)
        elif part == COMPARE:
            compare.draw_comparison(report_id, launch, rows)
        else:
            {SECTIONS: _draw_sections, RULES: _draw_rules, METRICS: _draw_metrics}[part](report_id, number)
    except NotCapturedError as error:
        page_elements.draw_not_captured(error)


def _draw_facts(launch: "pd.Series[Any]") -> None:
    reason = str(launch["reason"])
    page_elements.draw_facts(
        [
            ("Verdict", launch["verdict"], f"{reason[:1].upper()}{reason[1:]}."),
            ("Duration", fmt.duration(launch["duration_ns"]), "Measured under ncu's clock control."),
            ("Compute", fmt.percent(launch["compute_pct"]), "SM throughput as a share of peak."),
            ("Memory", fmt.percent(launch["memory_pct"]), "Memory throughput as a share of peak."),
            ("Occupancy", fmt.percent(launch["occupancy_pct"]), "Achieved."),
            ("Theoretical", fmt.percent(launch["theoretical_occupancy_pct"]), "Limit set by the launch."),
            ("DRAM", fmt.rate(launch["dram_bytes_per_s"]), "Device memory traffic."),
        ]
    )


def _draw_sections(report_id: str, launch: int) -> None:
    """Draw ncu's details page: one small table per section, in two columns, then all rows with their metric names."""
    rows = session.run(report_id, "ncu_details", launch=launch)
    if rows.empty:
        st.caption("This report has no sections for this launch.")
        return
    shown = pd.DataFrame(
        {
            "section": rows["section"],
            "label": rows["label"].map(_make_wrappable, na_action="ignore"),
            "value": [fmt.plain(sentences.format_quantity(r.value, r.unit, r.text)) for r in rows.itertuples()],
        }
    )
    groups = list(shown.groupby("section", sort=False, dropna=False))
    lengths = [len(group) + 3 for _, group in groups]
    left, right = column_pair.pair("sections")
    for place, (section, group) in enumerate(groups):
        with left if 2 * sum(lengths[:place]) < sum(lengths) else right:
            st.markdown(f"**{fmt.plain(section)}**")
            st.table(group[["label", "value"]].set_index("label"), border="horizontal", hide_header=True)
    with st.expander("As one table, with the metric behind each row"):
        tables.draw_table(rows, DETAIL_COLUMNS, key="details", download=f"ncu_details_{launch}.csv")


def _draw_rules(report_id: str, launch: int) -> None:
    """Show the messages of ncu's rules verbatim, ordered by achievable speed-up (``reach_pct``)."""
    rows = session.run(report_id, "ncu_rules", launch=launch)
    if rows.empty:
        st.caption("ncu's rules have no message for this launch.")
        return
    st.caption(
        "Messages of ncu's rules, verbatim, with ncu's estimated speed-up. Warpdeck's own reading is under Reading."
    )
    for _, row in rows.sort_values(
        ["reach_pct", "speedup_pct"], ascending=False, na_position="last", kind="stable"
    ).iterrows():
        with st.container(border=True):
            gain = fmt.number(row["speedup_pct"])
            scope = {"global": "of the kernel", "local": "of this part"}.get(row["speedup_type"], "")
            parts = [
                f"**{fmt.plain(row['rule'])}**",
                fmt.plain(row["section"]),
                fmt.plain(TYPES.get(row["type"], row["type"])),
            ]
            if gain is not None:
                parts.append(f"estimated speed-up {fmt.plain(scope)} **{fmt.plain(fmt.percent(gain))}**")
                parts += _note_cut(row, gain)
            st.markdown("  ·  ".join(parts))
            st.markdown(fmt.plain(row["message"]))


def _note_cut(row: "pd.Series[Any]", gain: float) -> list[str]:
    """Return a note if the roofline allows a smaller speed-up than the rule estimates."""
    reach = fmt.number(row["reach_pct"])
    if row["rule"] == "MemoryL2Compression":
        return ["only for memory that is allocated as compressible"]
    return [f"the roof leaves {fmt.plain(fmt.percent(reach))}"] if reach is not None and reach < gain else []


def _draw_metrics(report_id: str, launch: int) -> None:
    search = st.text_input(
        "Search", placeholder="Part of a metric's name", width=360, **url_widgets.bind_text("metric")
    )
    rows = session.run(report_id, "ncu_metrics", launch=launch, search=search.strip() or None)
    if rows.empty:
        st.info("No metric name contains this text.")
        return
    tables.draw_table(rows, METRIC_COLUMNS, key="metrics", download=f"ncu_metrics_{launch}.csv")


def _make_wrappable(label: str) -> str:
    """Let a label wrap after each dot, because metric names are long."""
    return fmt.plain(label).replace("\\.", "\\.\u200b")
