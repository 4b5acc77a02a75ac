"""Start the server from Python, like ``streamlit run app/main.py``."""

from collections.abc import Mapping
from pathlib import Path

import click

from app import streamlit_private

MAIN = Path(__file__).with_name("main.py")


def run_server(options: Mapping[str, str]) -> int:
    """Serve until the process is told to end; return 0 after Ctrl-C.

    Args:
        options: options of Streamlit by name, such as ``server.port``.
    """
    arguments = [argument for name, value in options.items() for argument in (f"--{name}", value)]
    try:
        streamlit_private.run_script(MAIN, ["--server.showEmailPrompt", "false", *arguments])
    except (click.Abort, KeyboardInterrupt):
        return 0
    return 0
