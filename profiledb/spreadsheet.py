"""Texts that a spreadsheet would take for formulas.

Names in a report come from whoever wrote the program, and ``=HYPERLINK(...)`` in a cell is run by whoever opens the
file. So what people open is defused: tables of pages, and the audit.
"""

import re

# What spreadsheets skip before they look: white space of any kind, control characters, marks without a width.
_SKIPPED = r"[\s\x00-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]*"
_FORMULA = "[=+\\-@＝＋－＠]"
# At the start of a cell, or of what becomes one where the file is split at semicolons, tabs and line ends instead.
_STARTS = re.compile(rf"(?:^|[;\t\r\n]){_SKIPPED}(?={_FORMULA})")
_LEADS = re.compile(r"[\t\r]")
_ENDS = re.compile(r"\r\n?")  # a bare one ends the row for spreadsheets, and Python's writer does not quote it
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")


def defused(text: str) -> str:
    """The text with an apostrophe before whatever would begin a formula, and line ends of one kind.

    A text that is a number stays.
    """
    if _NUMBER.fullmatch(text):
        return text
    safe = _STARTS.sub(lambda found: f"{found[0]}'" if found.start() else f"'{found[0]}", text)
    return _ENDS.sub("\n", f"'{safe}" if _LEADS.match(safe) else safe)
