"""Measure CPU time by test and by kind of work: ``pytest -n 0 -p tests.support.cpu_time --spent FILE``.

The file receives a line of JSON for each phase of a test as it ends, with CPU seconds (user and system) of this process
and all of its descendants, running or exited, and finally one line for each kind of work. Sums over files are
comparable even on a busy machine, unlike wall time. A server's CPU time counts when it exits. Browser subprocesses are
tracked separately, because no parent waits for them.
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

import psutil
import pytest

KINDS: defaultdict[str, float] = defaultdict(float)
TIMES: Counter[str] = Counter()
SEEN: dict[psutil.Process, tuple[str, float]] = {}
"""Kind and last measured CPU seconds of each browser process."""
PARTS = {f"chromium {kind}" for kind in ("gpu-process", "renderer", "utility", "zygote")}
"""Kinds of browser subprocesses that no parent waits for."""


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
    """Start a process like Popen, and add up the CPU time of the process and of the children that it waited for."""
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
    before, ran = os.times(), _running()
    try:
        return (yield)
    finally:
        user, system, below, below_system, wall = (b - a for a, b in zip(before, os.times(), strict=True))
        took = {"self": user + system, "children": below + below_system + _running() - ran, "wall": wall}
        _write(item.config, {"test": item.nodeid, "phase": phase} | took)


def _running() -> float:
    """Return CPU seconds of running descendants, of their exited children, and of all browser subprocesses."""
    took = 0.0
    for process in psutil.Process().children(recursive=True):
        try:
            used, words = process.cpu_times(), process.cmdline()
        except psutil.Error:
            continue
        kind = _part_of_browser(words)
        if kind:
            KINDS[kind] += used.user + used.system - SEEN.get(process, (kind, 0.0))[1]
            SEEN[process] = kind, used.user + used.system
        if kind not in PARTS:
            took += sum(used[:4])
    return took + sum(cpu for kind, cpu in SEEN.values() if kind in PARTS)


def _part_of_browser(words: list[str]) -> str:
    """Return the browser component that a command line runs; empty for most processes."""
    if words and Path(words[0]).name == "node":
        return "playwright"
    if not words or "chrom" not in words[0]:
        return ""
    return next((f"chromium {word[7:]}" for word in " ".join(words).split() if word.startswith("--type=")), "chromium")


def pytest_sessionstart(session: pytest.Session) -> None:
    if name := session.config.getoption("--spent"):
        Path(name).unlink(missing_ok=True)


def pytest_sessionfinish(session: pytest.Session) -> None:
    for kind, cpu in sorted(KINDS.items(), key=lambda item: -item[1]):
        _write(session.config, {"kind": kind, "cpu": cpu, "times": TIMES[kind]})


def _write(config: pytest.Config, line: dict[str, Any]) -> None:
    if name := config.getoption("--spent"):
        with Path(name).open("a") as file:
            print(json.dumps(line), file=file)
