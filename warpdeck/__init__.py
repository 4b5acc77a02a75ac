"""The command ``warpdeck``: dashboard, worker and library under one name; and ``from warpdeck import capture``.

It stands above ``app`` and ``ingest``, which do not know each other. Modules import their dependencies when a command
runs, so that ``--help`` and completion need neither a database nor Streamlit.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from warpdeck.in_program import capture

__all__ = ["capture"]


def __getattr__(name: str) -> Any:
    """Import ``capture`` when it is asked for: only programs that are recorded need it."""
    if name == "capture":
        from warpdeck.in_program import capture

        return capture
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
