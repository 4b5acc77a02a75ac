"""Components without an iframe, loaded from files: the content security policy allows only scripts that we serve."""

from pathlib import Path
from typing import Any

import streamlit as st

from app import streamlit_private

_APP = Path(__file__).resolve().parents[1]


def declare_component(name: str) -> Any:
    """Return the component in ``static/<name>``: its ``<name>.js``, and ``<name>.css`` if there is one."""
    folder = Path("static", name)
    full = streamlit_private.register_component(name, _APP, str(folder))
    style = f"{name}.css" if (_APP / folder / f"{name}.css").exists() else None
    return st.components.v2.component(full, js=f"{name}.js", css=style)
