"""`python -m bench.fault_programs NAME [--mended] [--steps N]`; programs of ranks under torchrun.

Prints one line of JSON, of rank 0 if there are several: program, half, steps, and nanoseconds of the steps.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from contextlib import nullcontext

from bench.fault_programs.loop import PROGRAMS, Loop, wait

GROUPS = (
    "images", "language", "arrays", "host", "training", "serving", "mixed", "applications", "services", "field",
    "workshop", "practice", "studio", "guides", "courses", "labs", "clinics", "settings", "offices", "plants", "farms",
    "ports", "kitchens", "towers",
    "ranks", "guides_ranks", "courses_ranks", "labs_ranks", "clinics_ranks", "offices_ranks",
)  # fmt: skip
GROUPS_OF_RANKS = tuple(group for group in GROUPS if group.endswith("ranks"))
"""Groups whose programs run on several ranks, one GPU each."""


def load() -> dict[str, str]:
    """Import all groups and return the group of each program."""
    for group in GROUPS:
        importlib.import_module(f"bench.fault_programs.{group}")
    return {name: run.__module__.rpartition(".")[2] for name, run in PROGRAMS.items()}


def measure(name: str, steps: int, *, mended: bool) -> int:
    """Run a program and return the nanoseconds of its steps."""
    from bench.fault_programs import ranks

    several = load()[name] in GROUPS_OF_RANKS
    with ranks.join_group() if several else nullcontext():
        loop = Loop(steps, barrier=ranks.meet if several else wait)
        PROGRAMS[name](loop, mended)
    return loop.ns


def main() -> int:
    """Run one half."""
    parser = argparse.ArgumentParser(prog="python -m bench.fault_programs", description=__doc__)
    parser.add_argument("name", nargs="?")
    parser.add_argument("--mended", action="store_true")
    parser.add_argument("--steps", type=int, default=20)
    options = parser.parse_args()
    groups = load()
    if options.name not in groups:
        print("\n".join(f"{name} ({groups[name]}): {run.__doc__}" for name, run in PROGRAMS.items()))
        return 0 if options.name is None else 2
    ns = measure(options.name, options.steps, mended=options.mended)
    if os.environ.get("RANK", "0") == "0":
        print(json.dumps({"program": options.name, "mended": options.mended, "steps": options.steps, "ns": ns}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
