"""The Scheduler section of the CPU vs GPU page: the decisions, their accuracy, and the cost of errors."""

from typing import Any

import pandas as pd
import streamlit as st

from app import session
from app.ui import chart_element, table_columns, tables, url_widgets
from app.ui import format as fmt
from app.ui import page_elements as ui
from app.ui import theme as themes
from app.ui.charts import Theme
from app.views.cpu_vs_gpu import scheduler_charts
from app.views.cpu_vs_gpu.scheduler_charts import Colors
from profiledb.errors import NotCapturedError
from profiledb.studies.cpu_vs_gpu import scheduling

POLICY, OF_TASK = "policy", "of_task"  # URL parameters
EVERY = "All tasks"
_ORACLE = " The oracle chose by those of them that were over, so it has next to no regret by construction."
POLICIES = table_columns.choose_columns(
    "scheduler_policies",
    table_columns.Col("title", "Policy", width=110),
    table_columns.use("load", width=96),
    table_columns.use("decisions", width=70),
    table_columns.use("on_gpu", width=74),
    table_columns.use("refused", width=74),
    "total_ns", "waited_ns", "joules", "regret_ns", "regret_pct", "error_pct", "decision_ns", "decision_p99_ns",
)  # fmt: skip
ERRORS = table_columns.choose_columns(
    "scheduler_errors", table_columns.use("task", width=160), table_columns.Col("device_title", "Device", width=70),
    table_columns.use("runs", width=70), "error_pct", "ratio", table_columns.use("worst_size", width=90),
    "worst_error_pct",
)  # fmt: skip
REGRETS = table_columns.choose_columns(
    "scheduler_regrets", table_columns.use("task", width=150), table_columns.use("size", width=64),
    table_columns.use("load", width=96),
    table_columns.Col("chosen", "Chosen", width=70), "regret_ns", table_columns.Col("why", "Why", width=300),
    table_columns.make_bar("share_pct"), table_columns.use("decisions", width=70),
)  # fmt: skip
MODEL = table_columns.choose_columns(
    "scheduler_model", table_columns.use("task", width=160), table_columns.Col("device_title", "Device", width=70),
    table_columns.Col("words", "A time is the sum of", width=520),
)  # fmt: skip
_SIDES = ("cpu_ns", "cpu_predicted_ns", "gpu_ns", "gpu_predicted_ns")


def draw_section(report_id: str) -> bool:
    """Draw the section; return whether the report has decisions."""
    try:
        policies = session.run_whole(report_id, "scheduler_policies")
    except NotCapturedError:
        return False
    st.subheader("Scheduler", anchor=False)
    names = list(dict.fromkeys(policies["policy"]))
    chosen = _choose_policy(names, scheduling.main_policy(policies))
    errors, regrets = (session.run_whole(report_id, name) for name in ("scheduler_errors", "scheduler_regrets"))
    _draw_facts(scheduling.find_overall(policies, chosen))
    for remark in scheduling.judge_policy(policies, errors, regrets, chosen):
        if remark.missed:
            st.warning(fmt.plain(remark.words), icon=":material/warning:")
        else:
            st.markdown(fmt.plain(remark.words))
    titles = [scheduling.get_policy_title(policy) for policy in policies["policy"]]
    tables.draw_table(
        policies.assign(title=titles), table_columns.select_filled(policies.assign(title=titles), POLICIES),
        key="scheduler-policies",
        download="scheduler_policies.csv", hidden=(
            "policy", "best_ns", "cpu_regret_pct", "gpu_regret_pct", "single_runs", "measured_ns", "expected_ns",
        ),
    )  # fmt: skip
    st.caption(
        "Time is that of the tasks as they ran. Regret compares devices by what each size took on both: medians of the"
        " runs of always CPU and always GPU, where these are there." + (_ORACLE if "oracle" in names else "")
    )
    _draw_charts(
        session.run_whole(report_id, "scheduler_decisions", policy=chosen), themes.get_work_colors(), themes.get_theme()
    )
    _draw_tables(errors[errors["policy"] == chosen], regrets[regrets["policy"] == chosen])
    _draw_model(report_id)
    return True


def draw_lacking(report_id: str) -> None:
    """Explain how to record decisions."""
    try:
        session.run_whole(report_id, "scheduler_policies")
    except NotCapturedError as error:
        st.subheader("Scheduler", anchor=False)
        ui.draw_lacks([error])


def _choose_policy(names: list[str], default: str) -> str:
    if len(names) == 1:
        return names[0]
    asked = url_widgets.bind_option(POLICY, names, default)
    chosen = st.selectbox("Policy", names, **asked, width=240, format_func=scheduling.get_policy_title)
    return chosen or default


def _draw_facts(row: "pd.Series[Any]") -> None:
    ui.draw_facts(
        [
            ("Tasks", fmt.count(row["decisions"]), "Decisions of this policy."),
            ("Median error", fmt.percent(row["error_pct"]), f"Of predicted times; goal {scheduling.ERROR_PCT:.0f} %."),
            (
                "Regret",
                fmt.percent(row["regret_pct"]),
                f"Time over that on the faster devices, less one; goal {scheduling.REGRET_PCT:.0f} %.",
            ),
            ("Decision", fmt.duration(row["decision_ns"]), f"Median; goal {fmt.duration(scheduling.DECISION_NS)}."),
        ]
    )


def _draw_charts(rows: pd.DataFrame, colors: Colors, theme: Theme) -> None:
    tasks = list(dict.fromkeys(rows[rows["predicted_ns"].notna()]["task"]))
    if tasks:
        st.subheader("Predicted and measured", anchor=False)
        shown = rows
        if len(tasks) > 1:
            title = {str(place): task for place, task in enumerate(tasks, 1)}
            names = ["", *title]
            number = st.selectbox(
                "Task", names, **url_widgets.bind_option(OF_TASK, names, ""), width=320,
                format_func=lambda key: fmt.shortened(title[key], 80) if key else EVERY,
            )  # fmt: skip
            shown = rows[rows["task"] == title[number]] if number else rows
        if (figure := scheduler_charts.plot_predicted(shown, colors, theme)) is not None:
            chart_element.draw_chart(figure, "scheduler-predicted")
            st.caption("One mark per run. Below the dotted line the run took longer than predicted.")
    if (figure := scheduler_charts.plot_over_time(rows, colors, theme)) is not None:
        st.subheader("Decisions over time", anchor=False)
        chart_element.draw_chart(figure, "scheduler-over-time")
        st.caption(
            "One mark per run, on the device that was chosen."
            + (" Below: what NVML said last before each decision." if scheduler_charts.select_loads(rows) else "")
            + (" Shaded: another program used the GPU." if scheduler_charts.mark_shared(rows).any() else "")
        )


def _draw_tables(errors: pd.DataFrame, regrets: pd.DataFrame) -> None:
    if len(errors):
        st.subheader("Errors by task", anchor=False)
        rows = _add_device(errors)
        tables.draw_table(
            rows, ERRORS, key="scheduler-errors", download="scheduler_errors.csv",
            hidden=("policy", "device", "predicted_ns", "measured_ns"),
        )  # fmt: skip
    if len(regrets):
        st.subheader("Where it was wrong", anchor=False)
        rows = _add_device(regrets, "chosen").assign(why=scheduling.shorten_reasons(regrets))
        tables.draw_table(
            rows, table_columns.select_filled(rows, REGRETS), key="scheduler-regrets", download="scheduler_regrets.csv",
            hidden=("policy", "device", *_SIDES, "reason"),
        )  # fmt: skip


def _draw_model(report_id: str) -> None:
    try:
        model = session.run_whole(report_id, "scheduler_model")
    except NotCapturedError:
        return
    if model.empty:
        return
    st.subheader("What the model looks at", anchor=False)
    rows = _add_device(model).assign(words=scheduling.describe_terms(model))
    tables.draw_table(
        rows, MODEL, key="scheduler-model", download="scheduler_model.csv",
        hidden=("device", "call_ns", "row_ns", "bytes_per_s", "operations_per_s", "result_bytes_per_s"),
    )  # fmt: skip
    st.caption(
        "Bytes are those that go to the GPU and back. Where the CPU works, they stand for its memory."
        " A result of more than 32 MiB goes to memory that is mapped anew, which costs more than the copy."
    )


def _add_device(rows: pd.DataFrame, name: str = "device_title") -> pd.DataFrame:
    return rows.assign(**{name: [scheduler_charts.DEVICES.get(str(device), "–") for device in rows["device"]]})
