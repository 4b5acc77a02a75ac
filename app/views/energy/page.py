"""The Energy page: GPU energy and power of the selection, and of its ranges, steps and kernel classes."""

from typing import Any

import pandas as pd
import streamlit as st

from app import session
from app.selection import chart_drag
from app.ui import format as fmt
from app.ui import number_input, theme, url_widgets
from app.ui import page_elements as ui
from app.views.energy import charts, tables
from app.views.energy import sentences as energy_words
from profiledb.errors import NotCapturedError
from profiledb.query import captures

GPU, LEVEL, STEPS, FLOPS, ITEMS = "gpu", "level", "steps", "flops", "items"  # URL parameters
_MOST_LEVELS = 6
_PROGRAM = 'from workloads.monitor import GPUMonitor\n\nwith GPUMonitor("NAME"):  # writes NAME.nvml.csv\n    train()'
_FLOPS_HELP = "FLOPs that the model needs per step, on all GPUs together; `flops_per_step` in `NAME.meta.json`."
_ITEMS_HELP = "Samples or tokens per step, on all GPUs together; `items_per_step` in `NAME.meta.json`."


def draw_page() -> None:
    manifest = session.report()
    if not session.has_sidecar(manifest.id, "power"):
        _explain_log(manifest.id)
        return
    rows = session.run(manifest.id, "energy_summary")
    if rows.empty or not rows["readings"].any():
        st.info("The log has no readings for the GPUs of this report, or the report does not say when it started.")
        return
    step = _choose_step(manifest.id)
    ui.draw_facts(_list_facts(energy_words.sum_energy(rows), step))
    if step is not None and isinstance(step.get("contradiction"), str):
        st.warning(fmt.plain(step["contradiction"]), icon=":material/warning:")
    for words in (energy_words.describe_coverage(rows), energy_words.explain_source(rows), _explain_steps(step)):
        if words:
            st.caption(words)
    tables.draw_gpus(rows)
    _draw_chart(manifest.id, rows)
    st.caption(fmt.plain(energy_words.LAG))
    with st.expander("What ± means"):
        st.caption(fmt.plain(energy_words.BAR))
    tables.draw_classes(manifest.id)
    if step is not None:
        tables.draw_ranges(manifest.id)


def _explain_log(report_id: str) -> None:
    """Explain how to record a power log, and describe the page with one."""
    with st.container(border=True):
        st.markdown("**This report has no log of power and clocks.**")
        st.markdown(
            "A log shows power over time, and the energy of the selection and of each range, step and kernel class."
            " Capture report and log together:"
        )
        st.code(session.name_program(report_id, captures.PROFILE), language=None, wrap_lines=True)
        st.markdown(
            "Or let the program write the log, and drop NAME.nvml.csv beside the report; NAME is the report's name:"
        )
        st.code(_PROGRAM, language="python")


def _choose_step(report_id: str) -> "pd.Series[Any] | None":
    """Return the selected row of ``energy_steps``, the first by default; empty without steps, None without ranges."""
    try:
        rows = session.run(report_id, "energy_steps")
    except NotCapturedError:
        return None
    names = list(rows["steps"])
    if not names:
        return pd.Series(dtype=object)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = names[0]
        if len(names) > 1:
            chosen = st.selectbox(
                "Steps", names, **url_widgets.bind_option(STEPS, names, names[0]), width=280,
                format_func=lambda text: fmt.shortened(text, 60),
            )  # fmt: skip
        flops = number_input.ask("FLOPs per step", FLOPS, "for example 1.2e12", _FLOPS_HELP)
        items = number_input.ask("Items per step", ITEMS, "samples or tokens", _ITEMS_HELP)
    params = {key: value for key, value in (("flops", flops), ("items", items)) if value}
    computed = session.run(report_id, "energy_steps", **params) if params else rows
    row: pd.Series[Any] = computed[computed["steps"] == chosen].iloc[0]
    return row


def _list_facts(whole: "pd.Series[Any]", step: "pd.Series[Any] | None") -> list[tuple[str, str, str]]:
    items = [
        (
            "Energy",
            energy_words.format_energy(
                whole["joules"], whole["low_j"], whole["high_j"], measurable=whole["measurable"]
            ),
            "Energy that the GPUs drew in the part of the selection that the log covers, idle power included.",
        ),
        (
            "Mean power",
            energy_words.format_power(whole["mean_w"] if whole["measurable"] else None),
            "All GPUs together.",
        ),
    ]
    if step is None or step.empty:
        return items
    each = energy_words.format_energy(
        step["step_j"], step["step_low_j"], step["step_high_j"], measurable=step["measurable"]
    )
    name = fmt.visible(step["item"]).rstrip("s") if isinstance(step["item"], str) else "item"
    return [
        *items,
        ("Energy per step", each, f"Mean of {fmt.count(step['instances'])} steps, without the time between them."),
        ("TFLOP/J", _format_ratio(step["tflop_per_j"]), "FLOPs per step over energy per step."),
        (
            f"{name.capitalize()}s/J",
            _format_ratio(step["items_per_j"]),
            f"{name.capitalize()}s per step over energy per step.",
        ),
    ]


def _format_ratio(value: Any) -> str:
    amount = fmt.number(value)
    return fmt.MISSING if amount is None else f"{amount:,.3g}" if amount < 1000 else f"{amount:,.0f}"


def _explain_steps(step: "pd.Series[Any] | None") -> str:
    """Describe missing data about steps (Markdown, escaped)."""
    if step is None:
        return "Without ranges there are no steps and no energy of ranges."
    if step.empty:
        return "The ranges in this selection show no steps."
    sentences = []
    if fmt.number(step["step_j"]) is None:
        sentences.append("The log does not cover all steps, so there is no energy per step.")
    missing = [
        words
        for words, column in (("FLOPs", "flops_per_step"), ("items", "items_per_step"))
        if fmt.number(step[column]) is None
    ]
    if missing:
        names = " and ".join(missing)
        sentences.append(f"{names[:1].upper()}{names[1:]} per step unknown. Enter a value to compute efficiency.")
    return fmt.plain(" ".join(sentences))


def _draw_chart(report_id: str, rows: pd.DataFrame) -> None:
    """Draw power, ranges and clocks of one GPU over the selected time."""
    power = session.run(report_id, "power_over_time")
    if power.empty:
        return
    gpus = [int(gpu) for gpu in power["gpu_id"].unique()]
    levels, bands = _read_levels(report_id)
    with st.container(horizontal=True, vertical_alignment="bottom", key="energy-choice"):
        gpu = gpus[0]
        if len(gpus) > 1:
            gpu = int(_draw_choice("GPU", [str(number) for number in gpus], GPU))
        if levels > 1:
            level = int(_draw_choice("Range level", [str(depth) for depth in range(min(levels, _MOST_LEVELS))], LEVEL))
            bands = session.run(report_id, "power_ranges", level=level)
    limit = fmt.number(rows.loc[rows["gpu_id"] == gpu, "limit_w"].max())
    figure = charts.plot_power(power[power["gpu_id"] == gpu], bands, limit, theme.get_theme())
    chart_drag.draw_chart(figure, "energy-power")
    st.caption(_explain_chart(rows, gpu, bands))


def _read_levels(report_id: str) -> tuple[int, pd.DataFrame]:
    """Return the number of range levels, and the ranges of the outermost one."""
    try:
        bands = session.run(report_id, "power_ranges")
    except NotCapturedError:
        return 0, pd.DataFrame()
    return (int(bands["levels"].iloc[0]) if len(bands) else 0), bands


def _draw_choice(label: str, options: list[str], key: str) -> str:
    return str(st.segmented_control(label, options, required=True, **url_widgets.bind_option(key, options, options[0])))


def _explain_chart(rows: pd.DataFrame, gpu: int, bands: pd.DataFrame) -> str:
    row = rows[rows["gpu_id"] == gpu].iloc[0]
    sentences = ["Lower chart: SM clock (gray), memory clock (dotted), temperature (red)."]
    if fmt.number(row["period_ns"]) is not None and row["source"] != "power":
        sentences.append(f"The energy counter updates about every {fmt.duration(row['period_ns'])}.")
    if len(bands) and int(bands["total"].iloc[0]) > len(bands):
        sentences.append(
            f"The longest {fmt.count(len(bands))} of {fmt.count(bands['total'].iloc[0])} ranges are drawn."
        )
    return fmt.plain(" ".join(sentences))


draw_page()
