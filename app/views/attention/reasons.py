"""Why the attention that takes the most time is slow, and what to do."""

from typing import Any

import pandas as pd
import streamlit as st

from app.ui import format as fmt
from app.ui import judged_findings, page_elements
from profiledb.findings import sentences
from profiledb.library.catalog import Manifest

RULE = "unfused_attention"
GOOD_PCT = 50.0
"""Share of the peak from which a fused attention counts as near what such kernels reach."""


def draw_reason(manifest: Manifest, rows: pd.DataFrame) -> None:
    """Draw the reason in one paragraph, and the advice of the rule about attention where it fires."""
    reason = describe(rows)
    if not reason:
        return
    st.subheader("Why it is slow", anchor=False)
    st.markdown(reason)
    unfused = bool((rows["part"] == "softmax").any())
    with st.container(key="attention-advice" if unfused else "attention-fused"):  # reserves height for what loads later
        _draw_advice(manifest)


@st.fragment(parallel=True)
def _draw_advice(manifest: Manifest) -> None:
    with page_elements.boundary():
        for one in judged_findings.judge_report(manifest):
            if one.rule.name == RULE and one.verdict == "fires":
                lines = [f"- {fmt.sentence(line)}" for line in sentences.fill_advice(one)]
                st.markdown(
                    "\n".join([f"{judged_findings.format_badge(one)} {judged_findings.format_sentence(one)}", *lines])
                )


def describe(rows: pd.DataFrame) -> str:
    """Explain the variant and length with the most kernel time (rows of ``attention_parts``); Markdown, or ""."""
    timed = rows.dropna(subset=["kernel_ns"])
    if timed.empty:
        return ""
    totals = timed.groupby(["variant", "tokens"], dropna=False, sort=False)["kernel_ns"].sum().astype(float)
    group = [part for _, part in timed.groupby(["variant", "tokens"], dropna=False, sort=False)][int(totals.argmax())]
    parts = {str(row["part"]): row for _, row in group.iterrows()}
    first = group.iloc[0]
    name = fmt.plain(fmt.shortened(first["variant"], 60)) if isinstance(first["variant"], str) else "Attention"
    length = "" if pd.isna(first["tokens"]) else f" at {fmt.count(first['tokens'])} tokens"
    where = f"**{name}{length}**"
    if "softmax" in parts:
        return f"{where} {_describe_parts(parts)}"
    return f"{where} {_describe_fused(parts['fused'])}" if "fused" in parts else ""


def _describe_parts(parts: dict[str, "pd.Series[Any]"]) -> str:
    softmax = parts["softmax"]
    total = sum(float(row["kernel_ns"]) for row in parts.values())
    share = fmt.percent(100 * float(softmax["kernel_ns"]) / total) if total else fmt.MISSING
    text = (
        "writes the scores, one number per pair of tokens, to memory and reads them again between its parts. The"
        f" softmax computes little and takes {share} of the time"
    )
    if (bandwidth := fmt.number(softmax["pct_of_bandwidth"])) is not None:
        text += f", at {fmt.percent(bandwidth)} of the memory's peak"
    others = sum(float(row["kernel_ns"]) - (fmt.number(row["matmul_ns"]) or 0.0) for name, row in parts.items()
                 if name in ("scores", "output"))  # fmt: skip
    if total and others > 0.05 * total:
        text += f"; scaling, masking and casts take {fmt.percent(100 * others / total)}"
    return (
        f"{text}. A fused attention (`torch.nn.functional.scaled_dot_product_attention`) keeps the scores on the chip."
    )


def _describe_fused(fused: "pd.Series[Any]") -> str:
    peak = fmt.number(fused["pct_of_peak"])
    if peak is None:
        return "is fused: one kernel keeps the scores on the chip. Enter its sizes to see how near it is to the peak."
    reached = f"is fused: one kernel keeps the scores on the chip, and reaches {fmt.percent(peak)} of the GPU's peak."
    if peak >= GOOD_PCT:
        return f"{reached} It saves time with fewer tokens or a lower precision alone."
    return f"{reached} Open its kernel on Kernels: the verdict there, or the ncu command for it, says what limits it."
