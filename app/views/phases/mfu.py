"""Model FLOPs utilization: FLOPs per step, from the reader or the program, over step time and peak."""

from typing import Any

import pandas as pd
import streamlit as st

from app.ui import format as fmt
from app.ui import number_input, page_elements, url_widgets
from app.views.phases.report_side import Side

PRECISIONS = {"bf16": "BF16", "fp16": "FP16", "tf32": "TF32", "fp8": "FP8", "fp32": "FP32", "fp64": "FP64"}
_HELP = (
    "FLOPs that the model needs per step, on all GPUs together: 6 × parameters × tokens in training, 2 × in"
    " inference. A program can write this beside its report as `flops_per_step` in `NAME.meta.json`."
)


def draw_mfu(side: Side) -> None:
    of = f" of {fmt.plain(side.label)}" if side.label else ""
    st.subheader(f"Model FLOPs utilization{of}", anchor=False)
    recorded = side.run("mfu").iloc[0]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        flops = number_input.ask("FLOPs per step", "flops", "for example 1.2e12", _HELP)
        names = list(PRECISIONS)
        known = recorded["precision"] if recorded["precision"] in PRECISIONS else "bf16"
        precision = st.selectbox(
            "Precision", names, format_func=PRECISIONS.__getitem__,
            **url_widgets.bind_option("precision", names, known, title=PRECISIONS.__getitem__),
            width=110, help="Precision of the dense peak to compare with",
        )  # fmt: skip
        step_ms = None
        if fmt.number(recorded["step_ns"]) is None:
            step_ms = number_input.ask(
                "Step time (ms)", "step_ms", "in ms", "No ranges show steps, so enter the step time."
            )
    params: dict[str, Any] = {"precision": precision} if precision != recorded["precision"] else {}
    params |= {"flops": flops} if flops else {}
    params |= {"step_ns": step_ms * 1e6} if step_ms else {}
    row = side.run("mfu", **params).iloc[0] if params else recorded
    page_elements.draw_facts(_list_facts(row))
    if isinstance(row["contradiction"], str):
        st.warning(fmt.plain(row["contradiction"]), icon=":material/warning:")
    st.caption(explain_mfu(row))


def _list_facts(row: "pd.Series[Any]") -> list[tuple[str, str, str]]:
    side = {"gpu": "from first to last GPU operation", "host": "on the CPU"}
    return [
        ("MFU", fmt.percent(row["mfu_pct"]), "FLOPs per step ÷ step time ÷ peak."),
        ("Achieved", fmt.flops(row["flops_per_s"]), "FLOPs per step ÷ step time."),
        ("Peak", fmt.flops(row["peak_flops_per_s"], digits=False), _explain_peak(row)),
        ("Step", fmt.duration(row["step_ns"]), f"Median {side[row['step_from']]}." if row["step_from"] in side else ""),
    ]


def _explain_peak(row: "pd.Series[Any]") -> str:
    source = f": {row['peak_from']}" if isinstance(row["peak_from"], str) else ""
    return f"Dense, without sparsity{source}."


def explain_mfu(row: "pd.Series[Any]") -> str:
    """Return the MFU formula with its numbers, or say which of them is missing (Markdown, escaped)."""
    flops, step, peak = (fmt.number(row[name]) for name in ("flops_per_step", "step_ns", "peak_flops_per_s"))
    sentences = []
    if flops and step and peak and fmt.number(row["mfu_pct"]) is not None:
        sentences.append(
            f"MFU = {fmt.work(flops)} ÷ {fmt.duration(step)} ÷ {fmt.flops(peak, digits=False)}"
            f" = {fmt.percent(row['mfu_pct'])}."
        )
    else:
        sentences.append("MFU = FLOPs per step ÷ step time ÷ peak.")
    if not flops:
        sentences.append("FLOPs per step unknown. Enter a value to compute MFU.")
    elif row["flops_from"] == "meta":
        sentences.append("FLOPs per step: from the program's file beside the report.")
    if not step:
        sentences.append("The report shows no steps.")
    gpus = f"{fmt.count(row['gpus'])} × " if row["gpus"] > 1 else ""
    name = fmt.plain(row["gpu"]) if isinstance(row["gpu"], str) else "this GPU"
    kind = PRECISIONS.get(row["precision"], "this precision")
    if peak:
        sentences.append(f"Peak: {gpus}{name} in {kind}, {fmt.plain(row['peak_from'])}.")
    else:
        sentences.append(f"The peak of {name} in {kind} is unknown.")
    if step:
        sentences.append("Profiling overhead may lengthen steps and lower MFU.")
    return " ".join(sentences)
