"""Starts the server from Python: what ``streamlit run app/main.py`` does."""

from collections.abc import Mapping
from pathlib import Path

import click
from streamlit.web import cli

MAIN = Path(__file__).with_name("main.py")


def run_server(options: Mapping[str, str]) -> int:
    """Serves until the process is told to end; returns 0 after Ctrl-C.

    Args:
        options: options of Streamlit by name, such as ``server.port``.
    """
    given = [part for name, value in options.items() for part in (f"--{name}", value)]
    try:
        cli.main(["run", str(MAIN), "--server.showEmailPrompt", "false", *given], standalone_mode=False)
    except (click.Abort, KeyboardInterrupt):
        return 0
    return 0
