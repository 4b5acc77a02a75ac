"""Parts that the page shows of one report and of two: titles, bars, and the choice between shares and times."""

from collections.abc import Hashable, Mapping, Sequence
from html import escape
from typing import Any

import streamlit as st

from app.ui import chart_element, theme, url_widgets
from app.ui import format as fmt
from app.views.phases import charts
from app.views.phases.charts import Bar, Piece
from app.views.phases.report_side import Side
from profiledb.rules import phases
from profiledb.rules.classes import OTHER
from profiledb.rules.phases import ALL

SHARE, TIME = "Share", "Time"
_NS_PER_MS = 1e6


def get_titles() -> dict[str, str]:
    """Return the display names of the phases in order, ``all`` first."""
    return {ALL: "Everything"} | {phase.name: phase.title for phase in phases.read_current().phases}


def choose_phases(sides: Sequence[Side]) -> list[str]:
    """Return the phases to draw in order: those of any report, and all phases together."""
    present = {phase for side in sides for phase in side.phases["phase"]}
    return [name for name in get_titles() if name in present]


def draw_bars(sides: Sequence[Side], *, key: str) -> None:
    """Draw one bar per phase and report, divided by class, as shares or as kernel time per step."""
    by_pass = all(side.passes for side in sides)
    what = st.segmented_control(
        "Bars show", [SHARE, TIME], required=True, **url_widgets.bind_option(key, [SHARE, TIME], SHARE),
        help="Shares of each bar, or the kernel time" + (" per step" if by_pass else " in total"),
        label_visibility="collapsed",
    )  # fmt: skip
    wanted = choose_phases(sides)
    wanted = wanted if len(wanted) > 2 else wanted[:1]  # a single phase is the whole
    drawn = [_make_bar(side, phase, time=what == TIME, by_pass=by_pass) for phase in wanted for side in sides]
    drawn = [bar for bar in drawn if bar.pieces]
    figure = charts.plot_class_bars(
        drawn, theme.get_class_titles(), theme.get_class_colors(), "ms" if what == TIME else "%", theme.get_theme()
    )
    _draw_legend(charts.list_classes(drawn, theme.get_class_titles()))
    chart_element.draw_chart(figure, f"{key}-chart")


def _draw_legend(names: Sequence[str]) -> None:
    """Draw the classes with their colors in a line that wraps. Titles come from the settings and are escaped here."""
    titles, colors = theme.get_class_titles(), theme.get_class_colors()
    box = "display: inline-block; width: 0.75em; height: 0.75em; margin-right: 0.4em"
    entries = (
        f'<span style="white-space: nowrap"><span style="{box}; background: {colors.get(name, colors[OTHER])}"></span>'
        f"{escape(titles.get(name, name))}</span>"
        for name in names
    )
    st.html(
        '<div style="display: flex; flex-wrap: wrap; gap: 0.1rem 1.1rem; font-size: 0.8rem; opacity: 0.9">'
        + "".join(entries)
        + "</div>"
    )


def _make_bar(side: Side, phase: str, *, time: bool, by_pass: bool) -> Bar:
    rows = side.by_phase[side.by_phase["phase"] == phase]
    column = "pass_ns" if by_pass else "total_ns"
    names = theme.get_class_titles()
    pieces = [_make_piece(row, names, side, time=time, column=column) for row in rows.to_dict("records")]
    return Bar(get_titles().get(phase, phase), side.label, pieces)


def _make_piece(row: Mapping[Hashable, Any], names: Mapping[str, str], side: Side, *, time: bool, column: str) -> Piece:
    name = names.get(row["class"], row["class"])
    lines = [
        f"<b>{fmt.escape_plotly(name)}</b>" + (f", {fmt.escape_plotly(side.label)}" if side.label else ""),
        f"{fmt.percent(row['phase_pct'])} of the bar, {fmt.percent(row['share_pct'])} of all kernel time",
        f"{fmt.duration(row['total_ns'])} in {fmt.counted(row['calls'], 'launch')}",
    ]
    if side.passes:
        calls = row["pass_calls"]
        launches = fmt.counted(calls, "launch") if calls == round(calls) else f"{fmt.significant(calls)} launches"
        lines.append(f"per step: {fmt.duration(row['pass_ns'])} in {launches}")
    value = float(row[column]) / _NS_PER_MS if time else float(row["phase_pct"])
    return Piece(row["class"], value, float(row["phase_pct"]), "<br>".join(lines))


def describe_mode(side: Side) -> str:
    """Say how launches are attributed to phases."""
    if side.params.get("mode") != "thread":
        return "Launches count from all threads: the backward pass includes those of PyTorch's autograd threads."
    return (
        "Launches count from this thread only, as in nsys stats: a backward pass launched by other threads is in no"
        " phase."
    )


def describe_steps(sides: Sequence[Side]) -> str:
    """Say how many steps the times are means over, or why there are no times per step."""
    counts = [
        f"{fmt.count(side.passes)}" + (f" ({fmt.plain(side.label)})" if side.label else "")
        for side in sides
        if side.passes
    ]
    if len(counts) < len(sides):
        return (
            "No steps were found, so there are no times per step."
            if not counts
            else ("Only one of the reports has steps, so they are compared in shares.")
        )
    return f"Times per step are means over {' and '.join(counts)} steps of the loop, without warm-up."
