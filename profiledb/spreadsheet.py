"""CSV without formulas.

The author of a profiled program chooses names in a report, and a spreadsheet runs ``=HYPERLINK(...)`` in a cell. So all
CSV of pages, commands and the API is defused.
"""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

# Characters that spreadsheets skip first: all white space, control characters, marks without width. Spelled out,
# because DuckDB's white space is that of ASCII.
_SKIPPED = r"[\x00-\x20\x7f-\x9f" "\xa0\xad\u1680\u2000-\u200f\u2028-\u202f\u205f-\u2064\u3000\ufeff]*"
_FORMULA = "[=+\\-@＝＋－＠]"
# At the start of a cell, or of what becomes a cell if the file is split at semicolons, tabs and line ends instead.
_SEPARATOR = r"[;\t\r\n]"
_STARTS = re.compile(rf"(?:^|{_SEPARATOR}){_SKIPPED}(?={_FORMULA})")
_LEADS = re.compile(r"[\t\r]")
_ENDS = re.compile(
    r"\r\n?"
)  # a bare carriage return ends the row for spreadsheets, and Python's writer does not quote it
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def defuse_text(text: str) -> str:
    """Put an apostrophe before anything that would begin a formula, and unify line ends; a number stays."""
    if _NUMBER.fullmatch(text):
        return text
    safe = _STARTS.sub(_defuse_match, text)
    return _ENDS.sub("\n", f"'{safe}" if _LEADS.match(safe) else safe)


def _defuse_match(match: re.Match[str]) -> str:
    return f"{match[0]}'" if match.start() or match[0].startswith(";") else f"'{match[0]}"


def build_defused_sql(column: str) -> str:
    """Return a DuckDB expression that does the same as ``defused`` to a column of texts."""
    quoted = {"skipped": _SKIPPED, "formula": _FORMULA, "separator": _SEPARATOR}
    begin = "'^{skipped}{formula}'".format(**quoted)
    later = "'({separator}{skipped})({formula})'".format(**quoted)
    return f"""CASE
        WHEN NOT regexp_matches({column}, {begin}) AND NOT regexp_matches({column}, {later})
            AND NOT contains({column}, chr(13)) AND NOT starts_with({column}, chr(9)) THEN {column}
        WHEN regexp_full_match({column}, '{_NUMBER.pattern}') THEN {column}
        ELSE regexp_replace(concat(
            if(regexp_matches({column}, '^[\\t\\r]') OR regexp_matches({column}, {begin}), chr(39), ''),
            regexp_extract({column}, {begin}),
            regexp_replace({column}[length(regexp_extract({column}, {begin})) + 1:], {later}, '\\1''\\2', 'g')
        ), '\\r\\n?', chr(10), 'g') END"""


def format_csv(frame: "pd.DataFrame") -> str:
    """Return a frame as CSV; texts and headings are defused, numbers stay."""
    import pandas as pd

    def holds_text(dtype: Any) -> bool:
        return bool(pd.api.types.is_object_dtype(dtype)) or isinstance(dtype, pd.StringDtype | pd.CategoricalDtype)

    safe = frame.copy(deep=False)
    for name, dtype in frame.dtypes.items():
        if holds_text(dtype):
            safe[name] = frame[name].astype(object).map(_defuse_cell, na_action="ignore")
    return safe.rename(columns=_defuse_cell).to_csv(index=False, lineterminator="\n")


def format_csv_lines(rows: Iterable[Sequence[Any]]) -> str:
    """Return rows as CSV with all texts defused."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([_defuse_cell(value) for value in row] for row in rows)
    return out.getvalue()


def _defuse_cell(value: Any) -> Any:
    return defuse_text(value) if isinstance(value, str) else value
