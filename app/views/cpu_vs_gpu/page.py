"""The CPU vs GPU page: the same work on both by size, and the size above which the GPU pays for its transfers."""

import pandas as pd
import streamlit as st

from app import session
from app.ui import format as fmt
from app.ui import theme
from app.views.cpu_vs_gpu import scheduler, sections
from app.views.cpu_vs_gpu.charts import Panel
from profiledb import config
from profiledb.library.catalog import Manifest
from profiledb.report.sidecar import get_stem
from profiledb.studies.cpu_vs_gpu import crossing

PANELS = 3  # tasks that fit side by side
MOST = 50  # tasks with listed crossovers; the command line lists all
EXAMPLE = (
    "task,size,device,part,seconds\nmatmul,1024,cpu,compute,0.002866\nmatmul,1024,gpu,allocate,0.000057\n"
    "matmul,1024,gpu,to_device,0.000848\nmatmul,1024,gpu,compute,0.000151\nmatmul,1024,gpu,to_host,0.000697"
)
COMMAND = f"{config.WORKLOADS} profile tasks"


def draw_page() -> None:
    manifest = session.report()
    if not session.has_sidecar(manifest.id, "tasks"):
        _explain_file(manifest)
        return
    decided = scheduler.draw_section(manifest.id)
    rows = session.run(manifest.id, "task_times")
    if rows.empty:
        return  # all runs shared the GPU with another program
    if decided:
        st.subheader("Tasks", anchor=False)
    tasks = list(dict.fromkeys(rows["task"]))
    shown = _choose_tasks(tasks)
    repetitions = session.run(manifest.id, "task_repetitions")
    listed = [*shown, *(task for task in tasks if task not in shown)][:MOST]
    crossovers = crossing.find_crossovers(repetitions[repetitions["task"].isin(listed)])
    parts = session.run(manifest.id, "task_parts")
    panels = [
        Panel(
            task,
            rows[rows["task"] == task],
            parts[parts["task"] == task],
            [crossover for crossover in crossovers if crossover.task == task],
        )
        for task in shown
    ]
    sections.draw_advice(panels)
    sections.draw_charts(panels, theme.get_work_colors(), theme.get_theme())
    if len(tasks) > PANELS:
        sections.draw_crossovers(crossovers, more=len(tasks) - len(listed))
    _name_left_out(rows)
    sections.draw_times(manifest.id, rows)
    if not decided:
        scheduler.draw_lacking(manifest.id)
    sections.draw_downloads(manifest)


def _explain_file(manifest: Manifest) -> None:
    """Explain which file to add and how to create it, and describe the page with one."""
    name = f"{get_stem(fmt.visible(manifest.name))}.tasks.csv"
    with st.container(border=True):
        st.markdown("**This report has no times of the same work on CPU and GPU.**")
        st.markdown(
            "Such times show from which size on the GPU is faster, with and without transfers, and where its time goes."
        )
        st.markdown("Capture vector addition, matrix multiplication and reduction at several sizes with")
        st.code(COMMAND, language=None)
        st.markdown(
            f"or drop {fmt.plain(name)} from your own program into the Library, one row per part and repetition."
            " Parts may have any name. The part compute is computing alone; without a column part every row is"
            " compute."
        )
        st.code(EXAMPLE, language=None)


def _choose_tasks(tasks: list[str]) -> list[str]:
    """Return the tasks to draw: all if they are few, otherwise the one in the URL, or the first."""
    if len(tasks) <= PANELS:
        return tasks
    names = dict(zip(map(str, range(len(tasks))), tasks, strict=True))
    asked = st.query_params.get("task", "")
    start = tasks.index(asked) if asked in tasks else 0
    number = st.selectbox(
        "Task", list(names), index=start, key="crossover-task", width=320,
        format_func=lambda key: fmt.shortened(names[key], 80),
    )  # fmt: skip
    task = names[number or "0"]
    if asked != task and (asked or number != "0"):
        st.query_params["task"] = task
    return [task]


def _name_left_out(rows: pd.DataFrame) -> None:
    """Name the repetitions that the totals exclude."""
    partial = int(rows["partial_repetitions"].sum())
    if partial:
        many = "1 repetition lacks" if partial == 1 else f"{fmt.count(partial)} repetitions lack"
        st.caption(
            f"{many} a part that others of the same task, size and device have. They count in the parts that"
            " they have, and in no total."
        )


draw_page()
