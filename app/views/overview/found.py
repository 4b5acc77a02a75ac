"""The findings that cost most, at the head of the Summary, and the way to all of them."""

import streamlit as st

from app import pages
from app.selection import settled
from app.ui import format as fmt
from app.ui import found
from profiledb.report.catalog import Manifest

MOST = 3
_COVERS = {"idle": ("idle", "host"), "memory": ("copies",), "kernels": ("steps",)}
"""Groups of rules that say what a statement leading to a page says."""


def show(manifest: Manifest) -> frozenset[str]:
    """Draws them; answers the pages whose statements they make superfluous. Nothing where no rule fires."""
    fires = found.fires(manifest)
    if not fires:
        return frozenset()
    with st.container(border=True, key="findings-head", gap="xsmall"):
        for one in fires[:MOST]:
            bound = found.bound(one)
            st.markdown(f"{found.badge(one)} {found.sentence(one)}" + (f" :gray[{fmt.plain(bound)}.]" if bound else ""))
        label = "All findings" if len(fires) > MOST else "Evidence and what to do"
        st.page_link(
            pages.script("findings"), label=f":primary[{label}]", icon=":material/arrow_forward:",
            query_params=settled.link(manifest.id), width="content",
        )  # fmt: skip
    told = {one.rule.group for one in fires[:MOST]}
    return frozenset(page for page, groups in _COVERS.items() if told.intersection(groups))
