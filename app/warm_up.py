"""Import modules and set up libraries once the server listens, so that the first page does not wait for that.

The first look at a page of a new server took six times the processor time of the next one.
"""

import importlib
import inspect
import logging
import pkgutil
from pathlib import Path

from app.ui import charts

_PACKAGES = ("frame", "selection", "ui", "views", "timeline")
_USED_LATER = ("pandas.io.formats.style", "narwhals.stable.v1", "PIL.Image", "pyarrow.parquet")
"""Modules that pandas, Plotly and Streamlit import at their first use."""
_SAMPLE = (charts.Part("kernels", 60.0, "", "#336699"), charts.Part("idle", 40.0, "", "#999999"))
_log = logging.getLogger("warpdeck")


def warm_up() -> None:
    """Import the modules of pages, and draw a figure. A failure is left to the page that it concerns."""
    for name in (*_USED_LATER, *list_modules()):
        try:
            importlib.import_module(name)
        except Exception:  # noqa: BLE001 (whatever a module raises, the page that needs it says so)
            _log.debug("Could not import %s in advance", name, exc_info=True)
    charts.share_bar(_SAMPLE, "light").to_json()
    inspect.stack()  # Streamlit asks for it before its first element, and it looks at every module once


def list_modules() -> list[str]:
    """Return the modules of pages without the pages themselves, which Streamlit runs."""
    root = Path(__file__).parent
    names = [one.name for name in _PACKAGES for one in pkgutil.walk_packages([str(root / name)], f"app.{name}.")]
    return [name for name in names if not name.endswith(".page")]
