"""The model's modules as a tree, with the time of their forward and backward passes."""

import streamlit as st

from app import session
from app.ui import url_widgets
from app.ui.analysis_table import AnalysisTable
from app.views.operators.tables import MOST, cut

_INDENT = "\u2003\u2002"
_DEEPEST = 12
MODULES = AnalysisTable(
    "operator_modules", changes={"name": {"name": "tree"}}, hidden=("path", "level"), download="modules.csv"
)


def draw_modules(report_id: str) -> None:
    if not session.run(report_id, "operator_facts")["modules"].iloc[0]:
        options = "`torch.profiler.profile(with_stack=True, with_modules=True)`"
        st.info(f"The trace has no modules. To record them: {options}.")
        return
    depth = st.selectbox(
        "Levels", list(range(1, _DEEPEST + 1)), index=None, placeholder="All",
        **url_widgets.bind_option("levels", range(1, _DEEPEST + 1)), width=140,
    )  # fmt: skip
    limit = {"limit": MOST}
    rows = session.run(report_id, "operator_modules", **(limit | {"depth": depth} if depth else limit))
    if rows.empty:
        st.info("No module is called in this selection.")
        return
    indents = [_INDENT * min(int(level), _DEEPEST) for level in rows["level"]]
    shown = rows.assign(tree=[indent + name for indent, name in zip(indents, rows["name"], strict=True)])
    MODULES.table(shown)
    cut(rows)
    st.caption(
        "A backward operator belongs to the modules around its forward operator, which the trace tells by sequence"
        " numbers. Times hold those of the modules inside. FLOPs are those of the trace, else a model of the shapes."
    )
