"""The parts of attention as tables: softmax against the matrix products, work and rates, and the formulas for both."""

from typing import Any

import pandas as pd
import streamlit as st

from app.ui import format as fmt
from app.ui import page_elements, table_columns, tables
from app.ui.analysis_table import AnalysisTable

PARTS = {
    "scores": "Scores",
    "softmax": "Softmax",
    "output": "Output",
    "fused": "Fused",
    "fused backward": "Fused backward",
}
_FORMULA = (
    "With b sequences, h heads, t tokens and d numbers per head, each matrix product takes 2·b·h·t·t·d FLOPs"
    " and the softmax takes 5·b·h·t·t."
)
_ONE = ("variant", "tokens", "batch", "heads", "head_size")
_RATIO = ("time_to_matmuls", "time_to_products", "flops_to_matmuls")
_OF_ONE = "Kernel time per attention"
RATIO_COLUMNS = table_columns.choose_columns(
    "attention_parts",
    table_columns.use("variant", width=210),
    table_columns.use("tokens", width=72),
    table_columns.use("calls", width=60),
    table_columns.Col("scores", "Scores", kind="duration", help=_OF_ONE),
    table_columns.Col("softmax", "Softmax", kind="duration", help=_OF_ONE),
    table_columns.Col("output", "Output", kind="duration", help=_OF_ONE),
    table_columns.Col("fused", "Fused", kind="duration", help=f"{_OF_ONE}, all in one kernel"),
    table_columns.Col("fused backward", "Backward", kind="duration", help=f"{_OF_ONE}, fused"),
    "time_to_matmuls",
    "time_to_products",
    table_columns.Col(
        "flops_pct",
        "FLOPs",
        unit="%",
        kind="number",
        help="Softmax FLOPs as a share of the FLOPs of both matrix products",
    ),
)
PARTS_TABLE = AnalysisTable(
    "attention_parts",
    "Parts",
    changes={
        "part": {"name": "title"},
        "flops": {"help": "By the formulas below, over all calls"},
        "flops_per_s": {"label": "FLOP rate"},
        "pct_of_peak": {"label": "Of peak"},
        "bytes_per_s": {"label": "Bandwidth"},
        "pct_of_bandwidth": {"label": "Of memory peak"},
    },
    filled=True,
    hidden=(
        "part", "batch", "heads", "head_size", "flops", "flops_per_s", "bytes_per_s", "peak_flops_per_s",
        "peak_precision", "precision", "contradiction",
    ),
)  # fmt: skip


def draw_ratios(rows: pd.DataFrame) -> None:
    """Draw softmax against the two matrix products, one row per variant and length."""
    wide = pivot_rows(rows)
    st.subheader("Softmax vs matrix products", anchor=False)
    split = wide.dropna(subset=["time_to_matmuls"])
    if len(split):
        total = (split["reference"] * split["calls"].astype(float)).to_numpy(dtype=float)
        top = split.iloc[int(total.argmax())]
        page_elements.draw_facts(_list_facts(top))
        st.caption(_sum_up_row(top, alone=len(split) == 1))
    elif "fused" in set(rows["part"]):
        st.caption(
            "Attention is fused here: one kernel does softmax and matrix products, so they cannot be told apart."
        )
    tables.draw_table(
        wide,
        table_columns.select_filled(wide, RATIO_COLUMNS),
        key="attention-ratios",
        download="attention_ratios.csv",
        hidden=("batch", "heads", "head_size"),
    )
    if "fused" in set(rows["part"]) and len(split):
        st.caption("Fused attention is one kernel of the class Attention and cannot be split into these parts.")


def pivot_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row per variant and length: the time of one attention by part, and the ratios.

    Times are ns on the GPU, or on the CPU if there are no kernels; ``reference`` is their sum.
    """
    measure = "cpu_ns" if rows["kernel_ns"].isna().all() else "kernel_ns"
    records = []
    for key, group in rows.groupby(list(_ONE), sort=False, dropna=False):
        times = {str(part["part"]): _divide_by_calls(part, measure) for _, part in group.iterrows()}
        row: dict[str, Any] = dict(zip(_ONE, key, strict=True)) | times
        softmax = group[group["part"] == "softmax"]
        row |= {name: softmax[name].iloc[0] if len(softmax) else None for name in _RATIO}
        row |= {"calls": group["calls"].max(), "reference": sum(ns for ns in times.values() if ns is not None)}
        records.append(row)
    wide = pd.DataFrame(records).reindex(columns=[*_ONE, "calls", *PARTS, *_RATIO, "reference"])
    for name in (*_RATIO, *PARTS, "reference"):
        wide[name] = pd.to_numeric(wide[name], errors="coerce").astype("Float64")
    return wide.assign(flops_pct=100 * wide["flops_to_matmuls"])


def _divide_by_calls(part: "pd.Series[Any]", measure: str) -> float | None:
    """Return the time of one attention in ns."""
    total, calls = fmt.number(part[measure]), fmt.number(part["calls"])
    return total / calls if total is not None and calls else None


def _list_facts(row: "pd.Series[Any]") -> list[tuple[str, str, str]]:
    both = row["scores"] + row["output"]
    return [
        ("Softmax", fmt.duration(row["softmax"]), "Kernel time per attention."),
        (
            "Both matmul ranges",
            fmt.duration(both),
            "Scores and output per attention, with everything that runs in their ranges.",
        ),
        (
            "Softmax vs matmul ranges",
            _format_times(row["time_to_matmuls"]),
            "Softmax time over the time of both matmul ranges.",
        ),
        (
            "Softmax vs matmul kernels",
            _format_times(row["time_to_products"]),
            "Softmax time over the time of the matmul kernels alone, without scaling and masking.",
        ),
        (
            "Softmax share of FLOPs",
            fmt.percent(row["flops_pct"]),
            "Softmax FLOPs over the FLOPs of both matrix products.",
        ),
    ]


def _format_times(ratio: Any) -> str:
    value = fmt.number(ratio)
    return fmt.MISSING if value is None else f"{value:.2f} ×"


def _sum_up_row(row: "pd.Series[Any]", *, alone: bool) -> str:
    which = fmt.plain(fmt.shortened(row["variant"], 60)) if isinstance(row["variant"], str) else "attention"
    length = "" if pd.isna(row["tokens"]) else f" at {fmt.count(row['tokens'])} tokens"
    most = "" if alone else ", which takes the most time"
    sentence = (
        f"In {which}{length}{most}, softmax takes {_format_times(row['time_to_matmuls'])} as long as both matmul ranges"
    )
    if fmt.number(row["flops_pct"]) is not None:
        sentence += f" and has {fmt.percent(row['flops_pct'])} of their FLOPs"
    return f"{sentence}."


def draw_parts(rows: pd.DataFrame) -> None:
    """Draw work, rates and traffic, one row per part."""
    causal = bool(rows["causal"].any())
    PARTS_TABLE.draw_rows(rows.assign(title=rows["part"].map(PARTS)), without=() if causal else ("useful_flops",))
    draw_contradictions(rows)


def draw_formulas(rows: pd.DataFrame) -> None:
    """Draw the formulas with the numbers of the first complete row, or the missing sizes."""
    known = rows.dropna(subset=["flops", "batch", "heads", "tokens", "head_size"])
    sentences = [_FORMULA]
    sentences.append(_explain_unknown(rows) if known.empty else _format_example(known))
    if "fused" in set(rows["part"]):
        sentences.append("Fused attention does all three.")
    if bool(rows["causal"].any()):
        sentences.append("Causal: half of the work is useful. Rates count the useful half, as FlashAttention does.")
    sentences.append(_explain_traffic(rows))
    st.caption(" ".join(fmt.plain(text) for text in sentences))


def _explain_unknown(rows: pd.DataFrame) -> str:
    names = {"batch": "batch", "heads": "heads", "tokens": "tokens", "head_size": "head size"}
    lacking = ", ".join(word for name, word in names.items() if rows[name].isna().all())
    return f"Unknown: {lacking or 'some of the sizes'}. Enter them above, or drop NAME.meta.json beside the report."


def _format_example(known: pd.DataFrame) -> str:
    """Return the formulas with the numbers of the first row."""
    b, h, t, d = (int(known.iloc[0][name]) for name in ("batch", "heads", "tokens", "head_size"))
    at = "" if known["tokens"].nunique() < 2 else f" at {t:,} tokens"
    rows = f"{b} · {h} · {t} · {t}"
    return f"Here 2 · {rows} · {d} = {2 * b * h * t * t * d:,} and 5 · {rows} = {5 * b * h * t * t:,} per call{at}."


def _explain_traffic(rows: pd.DataFrame) -> str:
    first = rows.iloc[0]
    if not isinstance(first["precision"], str):
        return "Choose a precision to see bytes and peak."
    formulas = (
        f"Bytes, for {first['precision']} numbers: scores 2·b·h·t·d + b·h·t·t, softmax 2·b·h·t·t, output b·h·t·t"
        " + 2·b·h·t·d, fused 4·b·h·t·d."
    )
    if fmt.number(first["peak_flops_per_s"]) is None:
        return f"{formulas} The peak of this GPU in {first['precision']} is unknown."
    return f"{formulas} {_list_peaks(rows)}"


def _list_peaks(rows: pd.DataFrame) -> str:
    """Return each peak that a part is compared with, and its source."""
    peaks = []
    for row in rows.dropna(subset=["peak_flops_per_s"]).drop_duplicates("peak_precision").to_dict("records"):
        unit = "CUDA cores, for the softmax" if row["part"] == "softmax" else "dense"
        peak = fmt.flops(row["peak_flops_per_s"], digits=False)
        peaks.append(f"{peak} in {row['peak_precision'].upper()} ({unit}; {row['peak_from']})")
    return f"Peaks: {', '.join(peaks)}."


def draw_contradictions(rows: pd.DataFrame) -> None:
    """Warn where a share of peak is impossible, and name the sizes behind it."""
    for _, row in rows.dropna(subset=["contradiction"]).iterrows():
        name = fmt.shortened(row["variant"], 60) if isinstance(row["variant"], str) else "attention"
        st.warning(fmt.plain(f"{PARTS[row['part']]} of {name}: {row['contradiction']}"), icon=":material/warning:")
