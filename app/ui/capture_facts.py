"""How and where a report was captured: the command, and a line about the machine."""

from contextlib import nullcontext

import streamlit as st

from app import session
from app.ui import format as fmt

LONG = 200
"""Number of characters above which the command is collapsed."""


def draw_facts(report_id: str) -> None:
    """Draw the command and the machine, without the facts that the report lacks."""
    facts = session.run(report_id, "report_facts").iloc[0]
    if isinstance(facts["command"], str):
        with st.expander("Command") if len(facts["command"]) > LONG else nullcontext():
            st.code(fmt.visible(facts["command"]), language=None, wrap_lines=True)
    gpus = fmt.number(facts["gpus"]) or 0
    parts = [
        f"GPUs: {facts['gpu_list']}" if gpus > 1 else None,
        _name_value("driver", facts["driver_version"]),
        _name_value("CUDA", facts["cuda_version"]),
        facts["os"],
        facts["cpu"],
        _name_value("read with", facts["converter"]),
    ]
    if texts := [fmt.plain(part) for part in parts if isinstance(part, str)]:
        st.caption("  ·  ".join(texts))


def _name_value(what: str, value: object) -> str | None:
    return f"{what} {value}" if isinstance(value, str) else None
