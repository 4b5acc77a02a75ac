"""The schema: tables with their columns, and the views that the analyses build on."""

import pandas as pd
import streamlit as st

from app.ui import format as fmt
from app.ui import tables
from app.ui.table_columns import Col
from profiledb.console import table_list
from profiledb.library.catalog import Manifest

_COLUMNS = [Col("name", "Column", width=200), Col("type", "Type", width=110), Col("comment", "Meaning", width=620)]
_VIEWS = [Col("name", "View", width=220), Col("comment", "Meaning", width=700)]


def draw_tables(manifest: Manifest) -> None:
    """Draw the tables and the views, below the answer."""
    st.subheader("Tables", anchor=False)
    known = {table.name: (table, rows) for table, rows in table_list.list_tables(manifest)}
    chosen = st.selectbox(
        "Table",
        list(known),
        key=f"sql-table-of-{manifest.id}",
        format_func=lambda name: f"{name} ({fmt.counted(known[name][1], 'row')})",
    )
    table, _ = known[chosen]
    st.caption(fmt.sentence(table.comment))
    tables.draw_table(
        pd.DataFrame([vars(column) for column in table.columns]), _COLUMNS, key="sql-columns",
        download=f"{table.name}.columns.csv",
    )  # fmt: skip
    views = [*table_list.LIBRARY, *table_list.list_views()]
    with st.expander(f"Views ({len(views)})"):
        st.markdown("Each answers like a table. `DESCRIBE selected_named_kernel` tells the columns of one.")
        tables.draw_table(pd.DataFrame([vars(view) for view in views]), _VIEWS, key="sql-views", download="views.csv")
