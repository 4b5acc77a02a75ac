"""User input about an attention: sizes, precision, and the ranges of its parts, all in the URL."""

import re
from typing import Any

import pandas as pd
import streamlit as st

from app.ui import format as fmt
from app.ui import url_widgets
from profiledb.query import header

KEYS = ("scores", "softmax", "output")
"""URL parameters with the range name of each part."""
TITLES = {"scores": "Scores QKᵀ", "softmax": "Softmax", "output": "Output PV"}
PRECISIONS = ("bf16", "fp16", "fp8", "tf32", "fp32", "fp64")
_SIZES = {"batch": "Batch", "heads": "Heads", "tokens": "Tokens", "head_size": "Head size"}
_MOST = 10**7
CAUSAL = (
    "Causal mask: no token looks at a later one. Half of a full attention's work is useful and counts in rates,"
    " whatever the kernels compute."
)
_CAUSAL = {"yes": "true", "no": "false"}


def read_patterns() -> dict[str, str]:
    """Return the range patterns that the URL sets; the analysis has defaults for the others."""
    asked = {key: st.query_params.get(key, "") for key in KEYS}
    return {key: re.escape(name) for key, name in asked.items() if name}


def list_parts() -> list[tuple[str, str]]:
    """Return each part with the range names that match it."""
    asked = {key: st.query_params.get(key, "") for key in KEYS}
    known = {param.name: param.default for param in header.get("attention_parts").params}
    return [(TITLES[key], asked[key] or known[key].replace("|", ", ")) for key in KEYS]


def choose(ranges: pd.DataFrame, bare: pd.DataFrame) -> dict[str, Any]:
    """Draw the inputs; return the parameters of ``attention_parts``.

    ``bare`` is its result without this input: values known from the report are the placeholders of empty fields.
    """
    with st.container(horizontal=True, vertical_alignment="bottom"):
        typed = {
            key: _read_size(key, bare)
            for key in _SIZES
            if key != "tokens" or bare["tokens"].isna().any() or _is_typed(key)
        }
        precision = st.selectbox(
            "Precision", PRECISIONS, index=None, width=120, **url_widgets.bind_option("precision", PRECISIONS),
            placeholder=_format_known(bare["precision"]) or "Unknown", help="Sets the peak and the bytes per number",
        )  # fmt: skip
        causal = st.selectbox(
            "Causal", list(_CAUSAL), index=None, width=100, help=CAUSAL,
            **url_widgets.bind_option("causal", list(_CAUSAL)),
            placeholder="yes" if bool(bare["causal"].iloc[0]) else "no",
        )  # fmt: skip
        if len(ranges):
            with st.popover("Ranges of the parts", icon=":material/account_tree:"):
                draw_selectors(ranges)
    sizes = {key: str(value) for key, value in typed.items() if value}
    chosen = {"precision": precision} if precision else {}
    chosen |= {"causal": _CAUSAL[causal]} if causal else {}
    return read_patterns() | sizes | chosen


def draw_selectors(ranges: pd.DataFrame) -> None:
    """Draw selectors for the ranges of the parts."""
    options = sorted(set(ranges["name"]), key=str.casefold)
    for key in KEYS:
        asked = st.query_params.get(key, "")
        widget = f"attention-{key}"
        st.session_state[widget] = asked if asked in options else None
        st.selectbox(
            TITLES[key], options, index=None, key=widget, format_func=fmt.visible, placeholder="By the usual names",
            on_change=_write_size, args=(key, widget), width=320,
        )  # fmt: skip
        if asked and asked not in options:
            st.caption(f"This report has no range {fmt.plain(fmt.shortened(asked, 60))}.")


def _write_size(key: str, widget: str) -> None:
    if chosen := st.session_state[widget]:
        st.query_params[key] = chosen
    else:
        st.query_params.pop(key, None)


def _is_typed(key: str) -> bool:
    return key in st.query_params


def _read_size(key: str, bare: pd.DataFrame) -> int | None:
    known = _format_known(bare[key])
    value: int | None = st.number_input(
        _SIZES[key], min_value=1, max_value=_MOST, value=None, step=1, width=144, **url_widgets.bind_number(key, _MOST),
        placeholder=known or "Unknown",
    )  # fmt: skip
    return value


def _format_known(values: "pd.Series[Any]") -> str:
    """Return the value of a size that the report tells: one value, or the number of different ones."""
    different = list(dict.fromkeys(values.dropna()))
    if not different:
        return ""
    return str(different[0]) if len(different) == 1 else f"{len(different)} values"
