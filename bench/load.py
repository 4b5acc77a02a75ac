"""Measure the cost of page views on a real server over its WebSocket, without a browser: processor time and waits."""

from __future__ import annotations

import statistics
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psutil
from streamlit.proto.Alert_pb2 import Alert
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin, Subprotocol

from bench.ingestion import BenchError
from bench.pages import MAIN, Server, run_server

SESSIONS = 50
CLICKS = 4
"""Page changes of each session, without a pause."""
PAUSE_S = 10.0
"""Seconds between two clicks of a reading person."""
_REMEMBERED_RUNS = 2
"""Runs for which a browser caches messages that the server need not send again (global.maxCachedMessageAge)."""
_REPEAT = 5
_TIMEOUT_S = 300.0


@dataclass(frozen=True)
class ViewTime:
    """Processor seconds of a page in the server, and the sent bytes: the first view of a server, and one more."""

    path: str
    first_s: float
    warm_s: float
    sent_bytes: int


@dataclass(frozen=True)
class Crowd:
    """Results of many clicking sessions: views a second, waits (s), errors, server memory (bytes).

    With a pause they start one after the other within it, and click once in each.
    """

    sessions: int
    pause_s: float
    views: int
    seconds: float
    cpu_s: float
    p50_s: float
    p95_s: float
    errors: int
    resident_bytes: int


class Session:
    """An open page. It reports its cached messages, as browsers do, and is not sent them again."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._has: dict[str, int] = {}
        self._runs = 0
        self.sent_bytes = 0

    def look(self, path: str) -> bool:
        """Go to a page such as `/kernels?report=ID`, wait for the end of its script, and return True without an
        error."""
        page, _, query = path.lstrip("/").partition("?")
        message = BackMsg()
        message.rerun_script.page_name = page
        message.rerun_script.query_string = query
        message.rerun_script.cached_message_hashes.extend(self._has)
        self._socket.send(message.SerializeToString())
        self.sent_bytes, good = 0, True
        while True:
            data = self._socket.recv(timeout=_TIMEOUT_S)
            assert isinstance(data, bytes)
            self.sent_bytes += len(data)
            received = ForwardMsg.FromString(data)
            kind = received.WhichOneof("type")
            if received.metadata.cacheable or kind == "ref_hash":
                self._has[received.hash or received.ref_hash] = self._runs
            if kind == "delta" and _is_error(received.delta.new_element):
                good = False
            if kind == "script_finished" and received.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
                self._runs += 1
                self._has = {one: run for one, run in self._has.items() if run > self._runs - _REMEMBERED_RUNS}
                return good


def _is_error(element: Element) -> bool:
    kind = element.WhichOneof("type")
    return kind == "exception" or (kind == "alert" and element.alert.format == Alert.ERROR)


@contextmanager
def open_session(address: str, source: str | None = None) -> Iterator[Session]:
    """Open the dashboard as a browser does, from a source address: a proxy limits the pages of each."""
    with urllib.request.urlopen(f"{address}/_stcore/health", timeout=60) as answer:
        cookies = [line.partition(";")[0] for line in answer.headers.get_all("Set-Cookie")]
    token = next(one.partition("=")[2] for one in cookies if one.startswith("_streamlit_xsrf="))
    with connect(
        f"ws://{urlsplit(address).netloc}/_stcore/stream",
        origin=Origin(address),
        subprotocols=[Subprotocol("streamlit"), Subprotocol(token)],
        additional_headers={"Cookie": "; ".join(cookies)},
        max_size=None,
        open_timeout=_TIMEOUT_S,
        ping_interval=None,  # a browser sends none, and waits
        proxy=None,
        source_address=(source, 0) if source else None,
    ) as socket:
        yield Session(socket)


def measure_views(env: Mapping[str, str], paths: Sequence[str], main: Path = MAIN) -> list[ViewTime]:
    """Measure pages of one new server in turn: the first view of each, and the median of further ones."""
    with run_server(env, {"address": "127.0.0.1"}, main) as running:
        return [_measure_view(running, path) for path in paths]


def _measure_view(running: Server, path: str) -> ViewTime:
    first: list[float] = []
    warm: list[float] = []
    with open_session(running.address) as one:
        for costs in (first, *[warm] * _REPEAT):
            before = measure_cpu_s(running.pid)
            if not one.look(path):
                raise BenchError(f"{path} says an error")
            costs.append(measure_cpu_s(running.pid) - before)
        return ViewTime(path, first[0], statistics.median(warm), one.sent_bytes)


def measure_crowd(
    env: Mapping[str, str], paths: Sequence[str], sessions: int = SESSIONS, main: Path = MAIN, pause_s: float = 0.0
) -> Crowd:
    """Have many sessions click through pages, from the start of a new server on."""
    with run_server(env, {"address": "127.0.0.1"}, main) as running:
        began, before = time.monotonic(), measure_cpu_s(running.pid)
        done = click_through(running.address, paths, sessions, pause_s)
        seconds, cpu = time.monotonic() - began, measure_cpu_s(running.pid) - before
        resident = int(psutil.Process(running.pid).memory_info().rss)
    p50, p95 = compute_percentiles([wait for wait, _ in done])
    return Crowd(sessions, pause_s, len(done), seconds, cpu, p50, p95, sum(not good for _, good in done), resident)


def click_through(
    address: str, paths: Sequence[str], sessions: int, pause_s: float, clicks: int = CLICKS
) -> list[tuple[float, bool]]:
    """Have many sessions click through pages; return each view's duration (s) and success."""
    with ThreadPoolExecutor(sessions) as pool:
        began = time.monotonic()
        each = [[paths[(number + click) % len(paths)] for click in range(clicks)] for number in range(sessions)]
        starts = [began + pause_s * number / sessions for number in range(sessions)]
        done = pool.map(lambda own, start: _click_pages(address, own, start, pause_s), each, starts)
        return [look for one in done for look in one]


def compute_percentiles(waits: Sequence[float]) -> tuple[float, float]:
    """Return the 50th and the 95th percentile."""
    ordered = sorted(waits)
    p50, p95 = (ordered[min(len(ordered) - 1, int(share * len(ordered)))] for share in (0.5, 0.95))
    return p50, p95


def _click_pages(address: str, paths: Sequence[str], start: float, pause_s: float) -> list[tuple[float, bool]]:
    results = []
    with open_session(address) as one:
        for number, path in enumerate(paths):
            time.sleep(max(0.0, start + number * pause_s - time.monotonic()))
            began = time.monotonic()
            good = one.look(path)
            results.append((time.monotonic() - began, good))
    return results


def measure_cpu_s(pid: int) -> float:
    """Return the processor seconds of a process."""
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)
