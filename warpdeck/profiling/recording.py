"""Record a program with nsys or the PyTorch profiler, in one process or in a rank that a launcher started."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from warpdeck.profiling import ncu, nsys, python_program
from warpdeck.profiling.child import Child, Ended, can_name, wrap_program


@dataclass(frozen=True)
class Plan:
    """How to record a program; ranks read it from a file.

    Args:
        tool: ``nsys``, ``ncu`` or ``torch``.
        folder: folder for the profiler's files.
        path: path of nsys or ncu.
        options: options of the profiler, or of torch.profiler.profile.
        arguments: options of the profiler that the user gave.
        steps: first step, and the first one after the window.
        after_s: seconds before the window opens.
        seconds: length of the window.
        verbose: whether to show the profiler's own messages.
    """

    tool: str
    folder: str
    path: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    arguments: list[str] = field(default_factory=list)
    steps: tuple[int, int] | None = None
    after_s: float | None = None
    seconds: float | None = None
    verbose: bool = False

    def write(self) -> Path:
        """Write the plan for the ranks and return its path."""
        path = Path(self.folder) / "plan.json"
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")
        return path

    @classmethod
    def read(cls, path: Path) -> Plan:
        """Read a plan."""
        return cls(**json.loads(path.read_text(encoding="utf-8")))

    def messages(self, name: str) -> Path:
        """Return the file for the profiler's output."""
        return Path(self.folder) / f"{name}.log"

    def status(self, name: str) -> Path:
        """Return the file in which the program leaves its exit status."""
        return Path(self.folder) / f"{name}.status"

    def window_log(self, name: str) -> Path:
        """Return the file in which the program's Python says when the window opens and closes."""
        return Path(self.folder) / f"{name}.window"


def make_child(plan: Plan, program: Sequence[str], name: str, *, terminal: bool) -> Child:
    """Return the process that records a program.

    Args:
        plan: how to record it.
        program: its command line.
        name: name of the files in the plan's folder, without ending.
        terminal: whether it may read from the terminal.
    """
    output = str(Path(plan.folder) / name)
    environment: dict[str, str] = dict(os.environ)
    asked: dict[str, Any] = {
        "tool": plan.tool,
        "steps": plan.steps,
        "told": str(plan.window_log(name)),
        "output": output,
    }
    if plan.tool == "torch":
        asked |= {"after_s": plan.after_s, "seconds": plan.seconds, "options": plan.options}
        return Child(program, python_program.inject(environment, asked), terminal=terminal, is_profiler=False)
    if plan.steps:
        environment = python_program.inject(environment, asked)
    standard = () if plan.verbose else _copy_output()
    status = plan.status(name) if plan.tool == "nsys" and (plan.steps or plan.seconds) else None
    command = _make_command(plan, output, wrap_program(program, standard, status), is_apart=bool(standard))
    messages = plan.messages(name) if standard else None
    return Child(command, environment, messages, standard, terminal=terminal, status=status)


def _copy_output() -> tuple[int, ...]:
    """Return copies of our output and errors that a shell can name; nothing if none can."""
    copies = (os.dup(1), os.dup(2))
    if can_name(copies):
        return copies
    for number in copies:
        os.close(number)
    return ()


def _make_command(plan: Plan, output: str, program: Sequence[str], *, is_apart: bool) -> list[str]:
    """Return the command line; ``is_apart`` says that the program does not write where the profiler does."""
    if plan.tool == "ncu":
        return ncu.make_command(
            plan.path, output, plan.options | (ncu.WINDOW if plan.steps else {}), plan.arguments, program
        )
    window = nsys.WINDOW if plan.steps else nsys.make_time_window(plan.after_s, plan.seconds)
    shown = {"--show-output": "false"} if is_apart else {}
    return nsys.make_command(plan.path, output, plan.options | window | shown, plan.arguments, program)


def run_rank(words: Sequence[str]) -> int:
    """Record one rank: ``PLAN PROGRAM ...``; return the exit status of the program."""
    plan, program = Plan.read(Path(words[0])), list(words[1:])
    rank = os.environ.get("RANK") or os.environ.get("OMPI_COMM_WORLD_RANK") or os.environ.get("SLURM_PROCID")
    rank = rank or os.environ.get("PMI_RANK") or ""
    child = make_child(plan, program, f"rank{rank}" if rank.isdecimal() else "report", terminal=False)
    try:
        ended: Ended = child.run()
    except OSError as error:
        print(f"{error.filename or program[0]}: {error.strerror}.", file=sys.stderr)
        return 127 if isinstance(error, FileNotFoundError) else 126
    return child.wait_for(ended.running) if ended.running else ended.status
