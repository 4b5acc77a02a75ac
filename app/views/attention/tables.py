"""The parts of attention as tables: softmax against the products, work and rates, and how the work is counted."""

from typing import Any

import pandas as pd
import streamlit as st

from app.ui import format as fmt
from app.ui import page, tables

PARTS = {
    "scores": "Scores",
    "softmax": "Softmax",
    "output": "Output",
    "fused": "Fused",
    "fused backward": "Fused backward",
}
_FORMULA = (
    "With b sequences, h heads, t tokens and d numbers a head, each matrix product takes 2·b·h·t·t·d FLOPs and the"
    " softmax 5·b·h·t·t."
)
_ONE = ("variant", "tokens", "batch", "heads", "head_size")
_RATIO = ("time_to_matmuls", "time_to_products", "flops_to_matmuls")
_OF_ONE = "Kernel time of one attention"
RATIO_COLUMNS = (
    tables.Col("variant", "Variant", help="The range around the parts", width=210, pinned=True),
    tables.Col("tokens", "Tokens", kind="count", width=72),
    tables.Col("calls", "Calls", kind="count", help="Attentions of this variant and length", width=60),
    tables.Col("scores", "Scores", kind="duration", help=_OF_ONE, like="reference"),
    tables.Col("softmax", "Softmax", kind="duration", help=_OF_ONE, like="reference"),
    tables.Col("output", "Output", kind="duration", help=_OF_ONE, like="reference"),
    tables.Col("fused", "Fused", kind="duration", help=f"{_OF_ONE}, all in one kernel", like="reference"),
    tables.Col("fused backward", "Backward", kind="duration", help=f"{_OF_ONE}, fused", like="reference"),
    tables.Col(
        "time_to_matmuls", "To matmuls", unit="×", kind="number",
        help="Time of the softmax by that of both other ranges, scaling and masking included",
    ),
    tables.Col(
        "time_to_products", "To products", unit="×", kind="number",
        help="Time of the softmax by that of the matrix products in these ranges alone",
    ),
    tables.Col(
        "flops_pct", "FLOPs", unit="%", kind="number",
        help="FLOPs of the softmax as a share of those of both matrix products",
    ),
)  # fmt: skip
PART_COLUMNS = (
    tables.Col("variant", "Variant", width=170, pinned=True),
    tables.Col("tokens", "Tokens", kind="count", width=64),
    tables.Col("title", "Part", width=76),
    tables.Col("calls", "Calls", kind="count", width=52),
    tables.Col("kernel_ns", "Kernels", kind="duration", help="Kernel time, sum over all calls", width=92),
    tables.Col("share_pct", "Share", kind="bar", help="Of the kernel time of this variant and length", width=104),
    tables.Col(
        "matmul_ns", "Products", kind="duration", like="kernel_ns", width=92,
        help="Of it matrix products; the rest is scaling, masking, casts",
    ),
    tables.Col("gflop", "Work", unit="GFLOP", kind="number", help="By the formulas below, all calls", width=96),
    tables.Col("useful_gflop", "Useful", unit="GFLOP", kind="number", help="Half: attention is causal", width=104),
    tables.Col("tflops", "Rate", unit="TFLOP/s", kind="number", help="Work by kernel time", width=96),
    tables.Col("pct_of_peak", "Of peak", kind="percent", help="Of what the GPU reaches in this precision", width=84),
    tables.Col("bytes", "Bytes", kind="bytes", help="The least: each of Q, K, V, scores, output once", width=84),
    tables.Col("tbytes", "Rate", unit="TB/s", kind="number", help="The least bytes by kernel time", width=80),
    tables.Col(
        "pct_of_bandwidth", "Of memory", kind="percent", width=104,
        help="Of the peak of the memory; what is in the caches can be faster",
    ),
    tables.Col("kernels", "Launches", kind="count", help="Kernels that ran in it", width=80),
    tables.Col("cpu_ns", "Host", kind="duration", like="kernel_ns", help="Sum of the durations of the ranges"),
)  # fmt: skip


def ratios(rows: pd.DataFrame) -> None:
    """Softmax against the two matrix products, a row a variant and length."""
    wide = wide_rows(rows)
    st.subheader("Softmax against the matrix products", anchor=False)
    split = wide.dropna(subset=["time_to_matmuls"])
    if len(split):
        total = (split["reference"] * split["calls"].astype(float)).to_numpy(dtype=float)
        top = split.iloc[int(total.argmax())]
        page.facts(_facts(top))
        st.caption(_sentence(top, alone=len(split) == 1))
    elif "fused" in set(rows["part"]):
        st.caption("Attention is fused here: one kernel, in which softmax and matrix products cannot be told apart.")
    tables.table(
        wide,
        _filled(wide, RATIO_COLUMNS),
        key="attention-ratios",
        download="attention_ratios.csv",
        hidden=("batch", "heads", "head_size"),
    )
    if "fused" in set(rows["part"]) and len(split):
        st.caption("Fused is one kernel of the class Attention: it cannot be split into these parts.")


def wide_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """A row a variant and length: time of one attention by part (ns; on the host without kernels), and the ratios.

    ``reference`` is the whole of it, by which all times get the same unit.
    """
    measure = "cpu_ns" if rows["kernel_ns"].isna().all() else "kernel_ns"
    found = []
    for key, group in rows.groupby(list(_ONE), sort=False, dropna=False):
        one = {str(part["part"]): _each(part, measure) for _, part in group.iterrows()}
        row: dict[str, Any] = dict(zip(_ONE, key, strict=True)) | one
        softmax = group[group["part"] == "softmax"]
        row |= {name: softmax[name].iloc[0] if len(softmax) else None for name in _RATIO}
        row |= {"calls": group["calls"].max(), "reference": sum(ns for ns in one.values() if ns is not None)}
        found.append(row)
    wide = pd.DataFrame(found).reindex(columns=[*_ONE, "calls", *PARTS, *_RATIO, "reference"])
    for name in (*_RATIO, *PARTS, "reference"):
        wide[name] = pd.to_numeric(wide[name], errors="coerce").astype("Float64")
    return wide.assign(flops_pct=100 * wide["flops_to_matmuls"])


def _each(part: "pd.Series[Any]", measure: str) -> float | None:
    """Time of one attention, ns."""
    total, calls = fmt.number(part[measure]), fmt.number(part["calls"])
    return total / calls if total is not None and calls else None


def _filled(frame: pd.DataFrame, columns: tuple[tables.Col, ...]) -> list[tables.Col]:
    """The columns that hold anything."""
    return [column for column in columns if bool(frame[column.name].notna().any())]


def _facts(row: "pd.Series[Any]") -> list[tuple[str, str, str]]:
    both = row["scores"] + row["output"]
    return [
        ("Softmax", fmt.duration(row["softmax"]), "Kernel time of one attention."),
        ("Both matmul ranges", fmt.duration(both), "Scores and output of one attention, with all that runs in them."),
        ("Softmax : matmuls", _times(row["time_to_matmuls"]), "Ratio of these times."),
        (
            "to products alone",
            _times(row["time_to_products"]),
            "Against the matrix products without scaling and masking.",
        ),
        ("of their FLOPs", fmt.percent(row["flops_pct"]), "FLOPs of the softmax over those of both matrix products."),
    ]


def _times(ratio: Any) -> str:
    value = fmt.number(ratio)
    return fmt.MISSING if value is None else f"{value:.2f} ×"


def _sentence(row: "pd.Series[Any]", *, alone: bool) -> str:
    which = fmt.plain(fmt.shortened(row["variant"], 60)) if isinstance(row["variant"], str) else "attention"
    length = "" if pd.isna(row["tokens"]) else f" at {fmt.count(row['tokens'])} tokens"
    said = f"{which}{length}: the softmax takes {_times(row['time_to_matmuls'])} the time of the two matmul ranges"
    if fmt.number(row["flops_pct"]) is not None:
        said += f", for {fmt.percent(row['flops_pct'])} of their FLOPs"
    return f"{said}." + ("" if alone else " It is the variant and length that took most time; the table has all.")


def parts(rows: pd.DataFrame) -> None:
    """Work, rates and traffic, a row a part."""
    st.subheader("Parts", anchor=False)
    shown = rows.assign(
        title=rows["part"].map(PARTS),
        gflop=rows["flops"] / 1e9,
        useful_gflop=rows["useful_flops"] / 1e9,
        tflops=rows["flops_per_s"] / 1e12,
        tbytes=rows["bytes_per_s"] / 1e12,
    )
    columns = [c for c in _filled(shown, PART_COLUMNS) if c.name != "useful_gflop" or bool(rows["causal"].any())]
    tables.table(
        shown,
        columns,
        key="attention-parts",
        download="attention_parts.csv",
        hidden=(
            "part",
            "batch",
            "heads",
            "head_size",
            "flops",
            "flops_per_s",
            "bytes_per_s",
            "peak_flops_per_s",
            "precision",
        ),
    )


def counted(rows: pd.DataFrame) -> None:
    """The formulas with the numbers of the first row that has them, or what is missing for them."""
    known = rows.dropna(subset=["flops"])
    said = [_FORMULA]
    said.append(_unknown(rows) if known.empty else _example(known))
    if "fused" in set(rows["part"]):
        said.append("A fused attention takes all three.")
    if bool(rows["causal"].any()):
        said.append("Causal: half of it is useful.")
    said.append(_traffic(rows))
    st.caption(" ".join(fmt.plain(text) for text in said))


def _unknown(rows: pd.DataFrame) -> str:
    names = {"batch": "batch", "heads": "heads", "tokens": "tokens", "head_size": "head size"}
    lacking = ", ".join(word for name, word in names.items() if rows[name].isna().all())
    return f"Not known: {lacking or 'part of the sizes'}. Type them above, or drop NAME.meta.json beside the report."


def _example(known: pd.DataFrame) -> str:
    """The formulas with the numbers of the first row."""
    b, h, t, d = (int(known.iloc[0][name]) for name in ("batch", "heads", "tokens", "head_size"))
    at = "" if known["tokens"].nunique() < 2 else f" at {t:,} tokens"
    rows = f"{b} · {h} · {t} · {t}"
    return f"Here 2 · {rows} · {d} = {2 * b * h * t * t * d:,} and 5 · {rows} = {5 * b * h * t * t:,} a call{at}."


def _traffic(rows: pd.DataFrame) -> str:
    first = rows.iloc[0]
    if not isinstance(first["precision"], str):
        return "Bytes and peak need a precision."
    said = (
        f"Bytes, of {first['precision']} numbers: scores 2·b·h·t·d + b·h·t·t, softmax 2·b·h·t·t, output"
        " b·h·t·t + 2·b·h·t·d, fused 4·b·h·t·d."
    )
    if fmt.number(first["peak_flops_per_s"]) is None:
        return f"{said} The peak of this GPU in {first['precision']} is not known."
    return f"{said} Peak: {fmt.flops(first['peak_flops_per_s'])}, {first['peak_from']}."
