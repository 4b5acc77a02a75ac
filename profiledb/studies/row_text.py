"""Rows of a study as text for programs."""

from collections.abc import Sequence

import pandas as pd

from profiledb import spreadsheet
from profiledb.query.header import Column


def format_csv(rows: pd.DataFrame, columns: Sequence[Column]) -> str:
    """Return CSV with numbers in the format of their column; a missing value is empty."""
    shown = rows.copy()
    for column in columns:
        if column.format:
            values = pd.to_numeric(rows[column.name], errors="coerce")
            texts = [None if pd.isna(value) else format(float(value), column.format) for value in values]
            shown[column.name] = pd.Series(texts, index=rows.index, dtype="object")
    return spreadsheet.format_csv(shown)
