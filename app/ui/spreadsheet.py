"""CSV for people: what a spreadsheet would take for a formula is made a text (profiledb.spreadsheet).

The command line's CSV of analyses is for programs and keeps every value (profiledb.output).
"""

from typing import Any

import pandas as pd

from profiledb.spreadsheet import defused


def csv_text(frame: pd.DataFrame) -> str:
    """A frame as CSV; texts and headings are defused, numbers stay as they are."""
    safe = frame.copy(deep=False)
    for name, dtype in frame.dtypes.items():
        if _holds_text(dtype):
            safe[name] = frame[name].astype(object).map(_cell, na_action="ignore")
    return safe.rename(columns=_cell).to_csv(index=False, lineterminator="\n")


def _holds_text(dtype: Any) -> bool:
    return bool(pd.api.types.is_object_dtype(dtype)) or isinstance(dtype, pd.StringDtype | pd.CategoricalDtype)


def _cell(value: Any) -> Any:
    return defused(value) if isinstance(value, str) else value
