"""What was captured and where: the command, and a quiet line about the machine."""

from contextlib import nullcontext

import streamlit as st

from app import session
from app.ui import format as fmt

LONG = 200
"""Characters from which on a command is folded away."""


def show(report_id: str) -> None:
    """Draws both; what the report does not tell is left out."""
    facts = session.run(report_id, "report_facts").iloc[0]
    if isinstance(facts["command"], str):
        with st.expander("Command") if len(facts["command"]) > LONG else nullcontext():
            st.code(fmt.visible(facts["command"]), language=None, wrap_lines=True)
    gpus = fmt.number(facts["gpus"]) or 0
    parts = [
        f"GPUs: {facts['gpu_list']}" if gpus > 1 else None,
        _named("driver", facts["driver_version"]),
        _named("CUDA", facts["cuda_version"]),
        facts["os"],
        facts["cpu"],
        _named("read with", facts["converter"]),
    ]
    if told := [fmt.plain(part) for part in parts if isinstance(part, str)]:
        st.caption("  ·  ".join(told))


def _named(what: str, value: object) -> str | None:
    return f"{what} {value}" if isinstance(value, str) else None
