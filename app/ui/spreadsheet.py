"""CSV for people: what a spreadsheet would take for a formula is made a text.

Names in a report come from whoever wrote the program, and ``=HYPERLINK(...)`` in a cell is run by whoever opens the
file. The command line's CSV is for programs and keeps every value (profiledb.output).
"""

import re
from typing import Any

import pandas as pd

# What spreadsheets skip before they look: white space of any kind, control characters, marks without a width.
_SKIPPED = r"[\s\x00-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]*"
_FORMULA = "[=+\\-@＝＋－＠]"
# At the start of a cell, or of what becomes one where the file is split at semicolons, tabs and line ends instead.
_STARTS = re.compile(rf"(?:^|[;\t\r\n]){_SKIPPED}(?={_FORMULA})")
_LEADS = re.compile(r"[\t\r]")
_ENDS = re.compile(r"\r\n?")  # a bare one ends the row for spreadsheets, and Python's writer does not quote it
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")


def csv_text(frame: pd.DataFrame) -> str:
    """A frame as CSV; texts and headings are defused, numbers stay as they are."""
    safe = frame.copy(deep=False)
    for name, dtype in frame.dtypes.items():
        if _holds_text(dtype):
            safe[name] = frame[name].astype(object).map(_cell, na_action="ignore")
    return safe.rename(columns=_cell).to_csv(index=False, lineterminator="\n")


def defused(text: str) -> str:
    """The text with an apostrophe before whatever would begin a formula, and line ends of one kind.

    A text that is a number stays.
    """
    if _NUMBER.fullmatch(text):
        return text
    safe = _STARTS.sub(lambda found: f"{found[0]}'" if found.start() else f"'{found[0]}", text)
    return _ENDS.sub("\n", f"'{safe}" if _LEADS.match(safe) else safe)


def _holds_text(dtype: Any) -> bool:
    return bool(pd.api.types.is_object_dtype(dtype)) or isinstance(dtype, pd.StringDtype | pd.CategoricalDtype)


def _cell(value: Any) -> Any:
    return defused(value) if isinstance(value, str) else value
