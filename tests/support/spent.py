"""Where the processor's time goes, by test and by kind of work: ``pytest -n 0 -p tests.support.spent --spent FILE``.

The file gets a line of JSON a phase of a test, with CPU seconds (user and system) of this process and of those that it
started and that ended, and at the end one a kind of work. Sums of files are comparable on a busy machine, where wall
time is not. Time of a server that a fixture starts counts where it ends.
"""

import json
import os
import subprocess
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Generator
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

KINDS: defaultdict[str, float] = defaultdict(float)
TIMES: Counter[str] = Counter()
LINES: list[dict[str, Any]] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--spent", help="write the CPU seconds of tests into this file")


def pytest_configure() -> None:
    from streamlit.testing.v1 import AppTest

    from profiledb.query import analysis

    subprocess.Popen._try_wait = _try_wait  # type: ignore[attr-defined]
    analysis.run = _counted("analysis.run", analysis.run)
    AppTest.run = _counted("AppTest.run", AppTest.run)  # type: ignore[method-assign]


def _counted(kind: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def counted(*args: Any, **kwargs: Any) -> Any:
        before = time.process_time()
        try:
            return function(*args, **kwargs)
        finally:
            KINDS[kind] += time.process_time() - before
            TIMES[kind] += 1

    return counted


def _try_wait(process: Any, flags: int) -> tuple[int, int]:
    """What Popen does, with what the process and those that it waited for took."""
    try:
        pid, status, used = os.wait4(process.pid, flags)
    except ChildProcessError:
        return process.pid, 0
    if pid:
        argv = process.args if isinstance(process.args, (list, tuple)) else [process.args]
        words = [Path(str(word)).name for word in argv[:4] if not str(word).startswith("-") or word in ("-m", "-c")]
        kind = " ".join(word[:20] for word in words[: 3 if "-m" in words else 1])
        KINDS[kind] += used.ru_utime + used.ru_stime
        TIMES[kind] += 1
    return pid, status


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, Any, Any]:
    return (yield from _phase(item, "setup"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    return (yield from _phase(item, "call"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, Any, Any]:
    return (yield from _phase(item, "teardown"))


def _phase(item: pytest.Item, phase: str) -> Generator[None, Any, Any]:
    before = os.times()
    try:
        return (yield)
    finally:
        user, system, below, below_system, wall = (b - a for a, b in zip(before, os.times(), strict=True))
        took = {"self": user + system, "children": below + below_system, "wall": wall}
        LINES.append({"test": item.nodeid, "phase": phase} | took)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if name := session.config.getoption("--spent"):
        kinds = [
            {"kind": kind, "cpu": cpu, "times": TIMES[kind]}
            for kind, cpu in sorted(KINDS.items(), key=lambda item: -item[1])
        ]
        Path(name).write_text("".join(json.dumps(line) + "\n" for line in [*LINES, *kinds]))
