"""Widgets whose value lives in the URL: each function returns keyword arguments for one.

Streamlit's own ``bind="query-params"`` leaves a page through an intermediate URL: the old page without its parameter.
That URL stays in the browser history, so Back leads there. Here a value is written when it changes and read from the
URL on each run, so that Back restores it. Default values are left out of the URL.
"""

from collections.abc import Callable, Sequence
from datetime import date
from functools import partial
from typing import Any

import streamlit as st

Text = Callable[[Any], str]
"""Converts an option to its text in the URL."""


def bind_text(key: str) -> dict[str, Any]:
    """Bind a text, for ``st.text_input``."""
    return _bind_widget(key, st.query_params.get(key, ""), lambda value: [value] if value else [])


def bind_flag(key: str) -> dict[str, Any]:
    """Bind a boolean that defaults to false, for ``st.toggle``."""
    return _bind_widget(key, st.query_params.get(key) == "true", lambda value: ["true"] if value else [])


def bind_number(key: str, most: int) -> dict[str, Any]:
    """Bind a whole number from 1 to ``most``, or None, for ``st.number_input``."""
    asked = st.query_params.get(key, "")
    value = int(asked) if asked.isdecimal() and len(asked) <= len(str(most)) and 1 <= int(asked) <= most else None
    return _bind_widget(key, value, lambda value: [] if value is None else [str(value)])


def bind_option(
    key: str, options: Sequence[Any], default: Any = None, text: Text = str, title: Text | None = None
) -> dict[str, Any]:
    """Bind one of several options, for a segmented control or ``st.selectbox`` (``index=None`` without a default).

    Unknown values in the URL are ignored. ``title`` gives the display text, which older links contain.
    """
    known = ({title(one): one for one in options} if title else {}) | {text(one): one for one in options}
    chosen = known.get(st.query_params.get(key, ""), default)
    return _bind_widget(key, chosen, lambda value: [] if value == default else [text(value)])


def bind_options(key: str, every: Sequence[Any], default: Sequence[Any] = (), text: Text = str) -> dict[str, Any]:
    """Bind a subset of the options, for ``st.multiselect``."""
    known = {text(one): one for one in every}
    asked = [known[one] for one in st.query_params.get_all(key) if one in known]
    chosen = asked or list(default)
    return _bind_widget(
        key, chosen, lambda values: [] if list(values) == list(default) else [text(one) for one in values]
    )


def bind_days(key: str) -> dict[str, Any]:
    """Bind the first and last day of a date range, or none, for ``st.date_input``."""
    asked = []
    for one in st.query_params.get_all(key)[:2]:
        try:
            asked.append(date.fromisoformat(one))
        except ValueError:
            asked = []
            break
    return _bind_widget(key, sorted(asked), lambda ends: [day.isoformat() for day in ends])


def _bind_widget(key: str, value: Any, written: Callable[[Any], list[str]]) -> dict[str, Any]:
    st.session_state[key] = value
    return {"key": key, "on_change": partial(_write_parameter, key, written)}


def _write_parameter(key: str, written: Callable[[Any], list[str]]) -> None:
    if values := written(st.session_state[key]):
        st.query_params[key] = values
    else:
        st.query_params.pop(key, None)
