"""The chosen range: key figures, and its GPU time by class and by kernel."""

from typing import Any

import pandas as pd
import streamlit as st

from app import session
from app.selection import kernel_links, page_selection
from app.ui import class_bar, page_elements, table_columns, tables
from app.ui import format as fmt
from app.views.ranges import pace
from profiledb.errors import AnalysisError, NotCapturedError

TOP = 10
KERNEL_COLUMNS = table_columns.choose_columns(
    "kernels",
    table_columns.use("name", click="opens the kernel", width=320),
    table_columns.make_bar("share_pct", help="Share of the kernel time of this range", width=110),
    "total_ns",
    table_columns.use("class", width=184),
    "calls",
    "avg_ns",
    "max_ns",
)


def draw_details(report_id: str, path: str) -> None:
    """Draw one path, or all paths that end with this name."""
    rows = session.run(report_id, "nvtx_tree", path=path)
    name = str(rows["name"].iloc[0])
    st.subheader(f"Range {fmt.plain(fmt.shortened(name, 80))}", anchor=False)
    st.caption(_describe_place(rows))
    kernels, why = _read_kernels(report_id, path)
    page_elements.draw_facts(_list_facts(rows, kernels))
    if why:
        st.caption(why)
    pace.draw_pace(report_id, path)
    if len(kernels):
        _draw_classes(report_id, path)
        _draw_top_kernels(report_id, kernels)


def _describe_place(rows: pd.DataFrame) -> str:
    if len(rows) > 1:
        return f"All {fmt.count(len(rows))} paths that end with this name; nested ones count twice."
    row = rows.iloc[0]
    threads = f"opened by {fmt.count(row['threads'])} threads" if int(row["threads"]) > 1 else "opened by one thread"
    looks = "looks like warm-up by name, or lies in a range that does" if bool(row["warmup"]) else ""
    parts = [fmt.plain(row["path"]) if int(row["level"]) else "", threads, f"first at {fmt.duration(row['first_ns'])}"]
    description = "  ·  ".join(part for part in [*parts, looks] if part)
    return description if parts[0] else description[:1].upper() + description[1:]


def _list_facts(rows: pd.DataFrame, kernels: pd.DataFrame) -> list[tuple[str, str, str]]:
    total = rows[["instances", "cpu_ns", "self_ns", "gpu_ns", "busy_ns", "operations"]].sum(min_count=1)
    shown = [
        ("Instances", fmt.count(total["instances"]), ""),
        (
            "CPU time",
            fmt.duration(total["cpu_ns"]),
            "Time between start and end on the CPU, summed over all instances.",
        ),
        ("Self", fmt.duration(total["self_ns"]), "CPU time outside nested ranges."),
    ]
    if rows["operations"].isna().all():
        return shown
    share = 100 * total["busy_ns"] / total["gpu_ns"] if fmt.number(total["gpu_ns"]) else None
    return [
        *shown,
        ("GPU time", fmt.duration(total["gpu_ns"]), "From first to last GPU operation, summed over all instances."),
        ("GPU busy", fmt.duration(total["busy_ns"]), "Part of the GPU time in which its operations ran."),
        ("Busy", fmt.percent(share), "GPU busy as a share of GPU time."),
        ("Operations", fmt.count(total["operations"]), "Kernels, memcpy, memset and whole CUDA graphs."),
        (
            "Kernel launches",
            fmt.count(kernels["calls"].sum() if len(kernels) else 0),
            "Launches of kernels in this range.",
        ),
    ]


def _read_kernels(report_id: str, path: str) -> tuple[pd.DataFrame, str]:
    """Return the kernels of the range, or the reason that there are none."""
    try:
        rows = session.run(report_id, "kernels", **_make_range_parameters(report_id, path))
    except NotCapturedError as error:
        return pd.DataFrame(), f"{fmt.plain(error.message)} {fmt.sentence(error.hint)}"
    except AnalysisError as error:
        return pd.DataFrame(), fmt.plain(error.message)
    return rows, "" if len(rows) else "This range launched no kernels."


def _make_range_parameters(report_id: str, path: str) -> dict[str, Any]:
    """Return the parameters that select this range; none if the selection bar already selects some of its instances."""
    chosen = session.read_selected(report_id).get("range", ())
    paths = page_selection.run_or_none(report_id, "range_paths", ["path", "name", "most"])
    if len(chosen) == 1 and page_selection.split(chosen[0], paths)[0] == path:
        return {}
    return {"range": path, "skip_first": 0}


def _draw_classes(report_id: str, path: str) -> None:
    rows = session.run(report_id, "class_split", **_make_range_parameters(report_id, path))
    st.markdown("**Time by kernel class**")
    parts = class_bar.draw_bar(rows, key="range-classes")
    shares = [f"{fmt.plain(part.title)} {fmt.percent(part.share_pct)}" for part in parts[:6]]
    st.caption(
        f"{fmt.duration(rows['total_ns'].sum())} of kernel time: {', '.join(shares)}"
        + ("." if parts[6:] == [] else " …")
    )


def _draw_top_kernels(report_id: str, kernels: pd.DataFrame) -> None:
    st.markdown("**Kernels**")
    chosen = tables.draw_table(
        kernels.head(TOP),
        KERNEL_COLUMNS,
        key="range-kernels",
        download="range_kernels.csv",
        select=True,
        hidden=("demangled",),
    )
    if len(kernels) > TOP:
        st.caption(f"Top {TOP} of {fmt.count(len(kernels))} kernels.")
    if chosen is not None:
        kernel_links.open_kernel(report_id, int(kernels["kernel"].iloc[chosen]))
