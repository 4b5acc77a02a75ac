"""The selection bar on every page of a Systems report: it shows and changes the selected part of the report."""

from typing import Any

import pandas as pd
import streamlit as st

from app import session
from app.selection import page_selection as selecting
from app.selection import range_picker
from app.selection.page_selection import Settled
from app.ui import format as fmt
from profiledb.errors import NotCapturedError

MODES = {"process": "Any thread", "thread": "The range's thread"}
MODE_HELP = (
    "Which launches count for a range. **Any thread** includes what helper threads launch for the thread of the range,"
    " as PyTorch's autograd threads do in a backward pass. **The range's thread** counts what the thread that opened"
    " the range launches itself, as `nsys stats` does."
)
TIME_HELP = "Operations that start in this window. Times count from the start of the capture."
ATTRIBUTION = {
    "attributed": "launched inside a range, on the thread of that range.",
    "inferred": "launched by a helper thread; the range is that of the thread that drives it.",
    "unattributed": "launched outside all ranges.",
}
"""Description of each category of ``attribution``."""
_CHIP = 44


def draw_bar(settled: Settled) -> None:
    with st.container(key=f"{settled.key}bar", gap="xxsmall"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"{settled.key}row"):
            if len(settled.paths):
                range_picker.draw_picker(settled)
                _draw_chips(settled)
                if not _has_rows(settled, "tensor_segment"):
                    _draw_mode(settled)
                _draw_warmup_toggle(settled)
            _draw_place_selectors(settled)
            if not _has_rows(settled, "path_sum"):  # it has no times
                _draw_time_filter(settled)
            _draw_attribution(settled)
            if settled.partly or settled.problems:
                st.button(
                    "Clear",
                    key=f"{settled.key}clear",
                    on_click=selecting.clear,
                    args=(settled.prefix,),
                    type="tertiary",
                    icon=":material/close:",
                    help="Clears the range, GPU, stream and time. The page shows the report as it opens.",
                )
        for problem in settled.problems:
            st.markdown(f":orange[:material/warning:] {problem} It is ignored.")
        with st.container(key=f"{settled.key}{'part' if settled.partly else 'whole'}"):
            _draw_facts(settled)


def _draw_chips(settled: Settled) -> None:
    """Draw a button for each selected range; a click removes the range."""
    for number, text in enumerate(settled.chosen.ranges):
        rest = tuple(other for other in settled.chosen.ranges if other != text)
        st.button(
            fmt.plain(fmt.shortened(text, _CHIP)),
            key=f"{settled.key}chip-{number}",
            icon=":material/close:",
            icon_position="right",
            help=f"{fmt.plain(text)}: click to remove it.",
            on_click=selecting.write_selection,
            args=(settled,),
            kwargs={"ranges": rest} | ({} if rest else {"skip_first": 0}),
        )


def _draw_mode(settled: Settled) -> None:
    key = f"{settled.key}mode"
    st.session_state[key] = settled.chosen.mode
    st.segmented_control(
        "Launched by",
        list(MODES),
        key=key,
        format_func=MODES.__getitem__,
        required=True,
        help=MODE_HELP,
        on_change=lambda: selecting.write_selection(settled, mode=st.session_state[key]),
    )


def _draw_warmup_toggle(settled: Settled) -> None:
    if not settled.paths["is_warmup"].any():
        return
    key = f"{settled.key}warmup"
    st.session_state[key] = settled.chosen.warmup == "exclude"
    st.toggle(
        "Exclude warm-up",
        key=key,
        help="Excludes ranges whose name says warm-up, with everything inside them. A range that you select stays.",
        on_change=lambda: selecting.write_selection(settled, warmup="exclude" if st.session_state[key] else "include"),
        width="content",
    )


def _draw_place_selectors(settled: Settled) -> None:
    """Draw the GPU and stream selectors, each only if there is more than one to choose from."""
    places, chosen = settled.places, settled.chosen
    gpus = places.drop_duplicates("gpu_id").dropna(subset=["gpu_id"]).set_index("gpu_id")["gpu"]
    if len(gpus) > 1:
        labels = {int(number): f"GPU {number}" for number in gpus.index}
        _draw_place_selector(settled, "device", "All GPUs", labels)
    of_gpu = places if chosen.device is None else places[places["gpu_id"] == chosen.device]
    streams = of_gpu.groupby("stream")[["operations"]].sum().sort_values("operations", ascending=False, kind="stable")
    if len(streams) > 1 or chosen.stream is not None:
        pairs = zip(streams.index, streams["operations"], strict=True)
        labels = {int(number): f"Stream {number} ({fmt.count(count)})" for number, count in pairs}
        _draw_place_selector(settled, "stream", "All streams", labels)


def _draw_place_selector(settled: Settled, field: str, every: str, labels: dict[int, str]) -> None:
    key, value = f"{settled.key}{field}", getattr(settled.chosen, field)
    if value is not None:
        labels = {value: f"{field.title()} {value}"} | labels
    st.session_state[key] = value
    st.selectbox(
        every,
        list(labels),
        index=None,
        key=key,
        placeholder=every,
        format_func=labels.__getitem__,
        label_visibility="collapsed",
        width=190,
        on_change=lambda: selecting.write_selection(settled, **{field: st.session_state[key]}),
    )


def _draw_time_filter(settled: Settled) -> None:
    chosen = settled.chosen
    low, high = chosen.from_ns, chosen.to_ns
    label = "Time"
    if low is not None or high is not None:
        label = f"{_format_ms(low) or '0'} to {_format_ms(high) or 'end'} ms"
    with st.popover(label, icon=":material/schedule:", key=f"{settled.key}time"):
        st.caption(TIME_HELP)
        with st.container(horizontal=True):
            for field, title, value in (("from_ns", "From (ms)", low), ("to_ns", "To (ms)", high)):
                _draw_time_input(settled, field, title, value)


def _draw_time_input(settled: Settled, field: str, title: str, value: int | None) -> None:
    key = f"{settled.key}{field}"
    st.session_state[key] = None if value is None else value / 1e6

    def changed() -> None:
        entered = st.session_state[key]
        ends = {"from_ns": settled.chosen.from_ns, "to_ns": settled.chosen.to_ns}
        ends[field] = None if entered is None else round(entered * 1e6)
        first, last = ends.values()
        if first is not None and last is not None and first >= last:
            ends = {"from_ns": None, "to_ns": None, field: ends[field]}  # the last entry wins
        selecting.write_selection(settled, **ends)

    st.number_input(
        title,
        min_value=0.0,
        value=None,
        step=1.0,
        format="%.3f",
        key=key,
        placeholder="start" if field == "from_ns" else "end",
        on_change=changed,
        width=150,
    )


def _has_rows(settled: Settled, table: str) -> bool:
    return any(one.rows.get(table) for one in session.reports([settled.report_id]).values())


def _format_ms(ns: int | None) -> str:
    return "" if ns is None else f"{ns / 1e6:,.10g}"


def _draw_facts(settled: Settled) -> None:
    """Draw the selected share of the report, and the exclusions."""
    try:
        row = session.run_whole(settled.report_id, "selection_summary", **settled.params).iloc[0]
    except NotCapturedError:
        if _has_rows(settled, "path_sum"):
            st.caption("This report has sums of all launches: no part of them can be selected.")
            return
        is_snapshot = _has_rows(settled, "tensor_segment")  # it has no launches and no threads
        what = "memory of tensors" if is_snapshot else "CUDA calls and ranges"
        st.caption(f"This report has no GPU activity. The selection still applies to {what}.")
        return
    part = int(row["operations"]) < int(row["report_operations"])
    whole = f" of {fmt.count(row['report_operations'])}" if part else ""
    time = f" of {fmt.duration(row['report_gpu_ns'])}" if part else ""
    share = 100 * row["gpu_ns"] / row["report_gpu_ns"] if part and row["report_gpu_ns"] else None
    noun = "operation" if int(row["report_operations"]) == 1 else "operations"
    lines = [
        f"**{fmt.count(row['operations'])}**{whole} {noun}, **{fmt.duration(row['gpu_ns'])}**{time} of GPU time"
        + (f" ({fmt.percent(share)})" if share is not None else ""),
        _describe_warmup(settled, row),
    ]
    if not int(row["operations"]):
        lines[0] = "**Nothing ran on a GPU in this selection.**"
    st.caption("  ·  ".join(line for line in lines if line))


def _draw_attribution(settled: Settled) -> None:
    """Draw the shares of GPU time by attribution category; nothing without ranges or GPU time."""
    if settled.paths.empty:
        return
    rows = selecting.run_or_none(settled.report_id, "attribution", ["operations", "share_pct"], **settled.params)
    categories = rows[(rows["operations"] > 0) & rows["share_pct"].notna()]
    if categories.empty:
        return
    with st.popover("Details", type="tertiary", key=f"{settled.key}details"):
        st.markdown("**How GPU time is matched to ranges**")
        for row in categories.itertuples():
            st.markdown(f"{fmt.percent(row.share_pct)} **{row.category}**: {ATTRIBUTION.get(str(row.category), '')}")


def _describe_warmup(settled: Settled, row: "pd.Series[Any]") -> str:
    """Describe the work that the warm-up would add to the selection."""
    if settled.chosen.warmup != "exclude" or not settled.paths["is_warmup"].any():
        return ""
    names = list(dict.fromkeys(settled.paths.loc[settled.paths["is_warmup"], "name"]))
    listed_names = ", ".join(f"`{_format_code(name)}`" for name in names[:2]) + (
        f" and {len(names) - 2} more" if names[2:] else ""
    )
    with_it = session.run_whole(settled.report_id, "selection_summary", **settled.params | {"warmup": "include"}).iloc[
        0
    ]
    if int(with_it["operations"]) == int(row["operations"]):
        return "" if settled.chosen.ranges else f"Warm-up excluded: {listed_names} ran nothing on a GPU"
    time = fmt.duration(int(with_it["gpu_ns"]) - int(row["gpu_ns"]))
    return f"Warm-up excluded: {time} in {listed_names}"


def _format_code(name: str) -> str:
    """Escape a name for use between backticks, where only a backtick is special."""
    return fmt.visible(fmt.shortened(name, _CHIP)).replace("`", "'")
