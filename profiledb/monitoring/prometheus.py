"""Serve the metrics and the health of a process to Prometheus, on an address of its own.

Off unless a setting names the address: anyone who reaches it can read it, and the dashboard's own port never serves
it. It consists of numbers and words of ours. Only this module imports the package ``prometheus_client``. That and
``http.server`` are imported once something listens.
"""

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from profiledb.errors import ConfigError, WarpdeckError
from profiledb.monitoring.counters import ALL, Counts, Seconds

if TYPE_CHECKING:
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    from prometheus_client import CollectorRegistry
    from prometheus_client.core import Metric

LOCAL = "127.0.0.1"
"""Host of a port without a host."""
PATIENCE_S = 10.0
"""Seconds in which a client has to send its request."""
_TROUBLES = {"missing", "full", "read-only"}
"""States of a part that stop work (library/health.py, library/disk.py)."""


@dataclass(frozen=True)
class Gauge:
    """A metric that is read on request.

    Args:
        name: of the metric.
        help: one sentence.
        label: name of the label; empty for a single value.
        look: returns the values by label; one that fails is left out.
    """

    name: str
    help: str
    label: str
    look: Callable[[], Mapping[str, float]]


Health = Callable[[], tuple[bool, dict[str, str]]]
"""Returns whether a process can work, and a word about each part that it needs."""


@dataclass(frozen=True)
class Address:
    """Host and TCP port of the metrics."""

    host: str
    port: int


def parse_address(text: str, variable: str) -> Address | None:
    """Parse ``PORT`` or ``HOST:PORT``, with brackets around a host with colons; None for an empty text.

    Raises:
        ConfigError: it is neither.
    """
    if text in ("", "off"):
        return None
    host, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdigit() and 0 < int(port[:6]) < 1 << 16) or (":" in host and host[:1] != "["):
        raise ConfigError(f"{variable} must be a port, or HOST:PORT, not {text!r}.")
    return Address(host.strip("[]") or LOCAL, int(port))


class Figures:
    """The metrics of this process in the text format of Prometheus."""

    def __init__(self, gauges: Sequence[Gauge] = ()) -> None:
        self._gauges = gauges
        self._registry = self._build_registry()

    def collect(self) -> "Iterator[Metric]":
        """Yield the metrics for the registry."""
        for one in ALL:
            yield _make_counter(one) if isinstance(one, Counts) else _make_histogram(one)
        for gauge in self._gauges:
            if (metric := _make_gauge(gauge)) is not None:
                yield metric

    def text(self) -> tuple[bytes, str]:
        """Return the present metrics, and the media type."""
        from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

        return generate_latest(self._registry), CONTENT_TYPE_LATEST

    def _build_registry(self) -> "CollectorRegistry":
        try:
            from prometheus_client import CollectorRegistry, ProcessCollector
        except ImportError as error:
            raise ConfigError("Figures for Prometheus need its client.", hint="pip install 'warpdeck[team]'") from error
        registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        registry.register(self)
        return registry


class Listener:
    """Answers ``/metrics`` and ``/health`` on an address, in threads of its own, between ``start`` and ``stop``."""

    def __init__(self, where: Address, figures: Figures, health: Health) -> None:
        self._where = where
        self._figures = figures
        self._health = health
        self._server: ThreadingHTTPServer | None = None

    def start(self) -> None:
        """Start to listen.

        Raises:
            ConfigError: the address is not permitted, or another program uses it.
        """
        try:
            self._server = _make_server_class(self._where)(
                (self._where.host, self._where.port), _make_handler_class(self._figures, self._health)
            )
        except OSError as error:
            message = f"Cannot listen on port {self._where.port} of {self._where.host} for figures: {error.strerror}."
            raise ConfigError(
                message, hint="WARPDECK_METRICS and WARPDECK_WORKER_METRICS name the addresses."
            ) from error
        threading.Thread(target=self._server.serve_forever, name="metrics", daemon=True).start()

    def stop(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None


def _make_server_class(where: Address) -> "type[ThreadingHTTPServer]":
    import socket
    from http.server import ThreadingHTTPServer

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        address_family = socket.AF_INET6 if ":" in where.host else socket.AF_INET

    return Server


def _make_handler_class(figures: Figures, health: Health) -> "type[BaseHTTPRequestHandler]":
    from http.server import BaseHTTPRequestHandler

    class Handler(BaseHTTPRequestHandler):
        timeout = PATIENCE_S
        server_version = "Warpdeck"
        sys_version = ""

        def do_GET(self) -> None:
            """Answer with the metrics or the health."""
            path = self.path.partition("?")[0]
            if path == "/metrics":
                self._send_answer(200, *figures.text())
            elif path == "/health":
                well, states = health()
                self._send_answer(200 if well else 503, encode_health(well, states), "application/json")
            else:
                self._send_answer(404, b"Not found", "text/plain")

        def _send_answer(self, status: int, body: bytes, kind: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (its name in the base class)
            """Log nothing: a request arrives every few seconds."""

    return Handler


def encode_health(well: bool, states: Mapping[str, str]) -> bytes:
    """Encode the health of a process as JSON: ``status``, and a word about each part."""
    status = "not ready" if not well else "degraded" if _TROUBLES & set(states.values()) else "ready"
    return json.dumps({"status": status} | dict(states)).encode()


def _make_counter(one: Counts) -> "Metric":
    from prometheus_client.core import CounterMetricFamily

    family = CounterMetricFamily(one.name, one.help, labels=[one.label])
    for value, count in sorted(one.all().items()):
        family.add_metric([value], count)
    return family


def _make_histogram(one: Seconds) -> "Metric":
    from prometheus_client.core import HistogramMetricFamily

    family = HistogramMetricFamily(one.name, one.help, labels=[one.label])
    for value, (counts, total) in sorted(one.all().items()):
        sums = [sum(counts[: at + 1]) for at in range(len(counts))]
        bounds = [*(str(bound) for bound in one.bounds), "+Inf"]
        family.add_metric([value], buckets=list(zip(bounds, map(float, sums), strict=True)), sum_value=total)
    return family


def _make_gauge(gauge: Gauge) -> "Metric | None":
    from prometheus_client.core import GaugeMetricFamily

    try:
        values = gauge.look()
    except (WarpdeckError, OSError):  # a part is unreachable, as /health says
        return None
    family = GaugeMetricFamily(gauge.name, gauge.help, labels=[gauge.label] if gauge.label else None)
    for value, number in sorted(values.items()):
        family.add_metric([value] if gauge.label else [], number)
    return family
