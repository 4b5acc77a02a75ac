"""Run a command: ``warpdeck`` and ``python -m warpdeck``."""

import os
import sys
from pathlib import Path

PACKAGES = Path(__file__).resolve().parent / "packages"
"""Holds app, ingest and profiledb in an installed Warpdeck. They stay out of site-packages, where any of these names
may belong to somebody else. A checkout has no such folder: there they stand beside this package."""


def main() -> int:
    """Run one command and return its exit status."""
    if PACKAGES.is_dir():
        sys.path.insert(0, str(PACKAGES))
        # Child processes run with this folder as their working directory: -m must find the packages there.
        os.environ.pop("PYTHONSAFEPATH", None)
    from warpdeck.main import main as run

    return run()


if __name__ == "__main__":
    sys.exit(main())
