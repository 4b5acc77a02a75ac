"""Components without an iframe, from files: the content security policy allows no script but those that we serve."""

from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.components.v2.get_bidi_component_manager import get_bidi_component_manager
from streamlit.components.v2.manifest_scanner import ComponentConfig, ComponentManifest

_APP = Path(__file__).resolve().parents[1]
_PACKAGE = "warpdeck"


def component(name: str) -> Any:
    """What draws the component of ``static/<name>``: its ``<name>.js``, and ``<name>.css`` where there is one."""
    manager, full = get_bidi_component_manager(), f"{_PACKAGE}.{name}"
    folder = Path("static", name)
    if manager.get_component_asset_root(full) is None:
        config = ComponentConfig(name=name, asset_dir=str(folder))
        manager.register_from_manifest(ComponentManifest(name=_PACKAGE, version="1", components=[config]), _APP)
    style = f"{name}.css" if (_APP / folder / f"{name}.css").exists() else None
    return st.components.v2.component(full, js=f"{name}.js", css=style)
