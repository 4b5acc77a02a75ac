"""The words of a table's cells, as a Styler that has them already.

Streamlit asks pandas to lay out a styled table as HTML, cell by cell, and takes only the words from it: 23 ms for 60
rows of 11 columns, of which nothing else is used.
"""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
from pandas.api.types import is_float

Word = Callable[[Any], str]

_UUID = "cells"
"""Without one, pandas draws lots: the same table would be a new message each time, not one that the browser has."""


class _Cells(pd.DataFrame):
    """Cells that answer their words where Streamlit asks for them as text (pandas_styler_utils)."""

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Any:  # type: ignore[misc] # final for pandas-stubs alone
        """The words for ``str``; else what pandas answers."""
        words = self.__dict__.get("written")
        return words.copy() if dtype is str and words is not None else super().astype(dtype, *args, **kwargs)


def styler(cells: pd.DataFrame, words: Mapping[str, Word]) -> Any:
    """What ``cells.style.format(words)`` is for Streamlit."""
    return styled(cells, texts(cells, words))


def texts(cells: pd.DataFrame, words: Mapping[str, Word]) -> pd.DataFrame:
    """Write each cell in its words."""
    found = {name: [_text(value, words.get(str(name))) for value in cells[name]] for name in cells.columns}
    return pd.DataFrame(found, index=cells.index, columns=cells.columns, dtype=str)


def styled(cells: pd.DataFrame, written: pd.DataFrame) -> Any:
    """Return a Styler of cells whose words are written already (``texts``)."""
    own = _Cells(cells)
    object.__setattr__(own, "written", written)
    made: Any = own.style
    made.set_uuid(_UUID)
    made._compute = lambda: made  # noqa: SLF001 (Streamlit calls both)
    made._translate = lambda *_: {}  # noqa: SLF001
    return made


def _text(value: Any, word: Word | None) -> str:
    """A cell without words of its own is written as pandas does it: six digits of a fraction."""
    if word is not None:
        return str(word(value))
    return f"{value:.6f}" if is_float(value) else str(value)
