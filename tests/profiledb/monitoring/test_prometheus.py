"""Prometheus figures, read by its own parser over a real socket."""

import json
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping

import pytest
from prometheus_client.parser import text_string_to_metric_families

from bench.pages import find_free_port
from profiledb.errors import CatalogError, ConfigError
from profiledb.monitoring import counters, prometheus
from profiledb.monitoring.prometheus import Address, Figures, Gauge, Listener


def values(text: str) -> dict[tuple[str, str], float]:
    """The figures by name and by their labels' values."""
    return {
        (sample.name, ",".join(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def lost() -> Mapping[str, float]:
    raise CatalogError("gone")


@pytest.fixture
def listening() -> Iterator[str]:
    gauges = [Gauge("a_files", "Files.", "state", lambda: {"ready": 3.0}), Gauge("a_lost", "Lost.", "", lost)]
    port = find_free_port()
    listener = Listener(Address("127.0.0.1", port), Figures(gauges), lambda: (False, {"database": "missing"}))
    listener.start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        listener.stop()


def test_figures_are_read_back(listening: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = counters.Seconds("a_page_seconds", "Pages.", "page", (0.1, 1.0))
    causes = counters.Counts("a_failures", "Failures.", "cause")
    monkeypatch.setattr(prometheus, "ALL", (pages, causes))
    for seconds in (0.05, 0.1, 0.5, 7.0):
        pages.add("kernels", seconds)
    causes.add("memory")
    with urllib.request.urlopen(f"{listening}/metrics", timeout=10) as answer:
        found = values(answer.read().decode())
    buckets = [found["a_page_seconds_bucket", f"{bound},kernels"] for bound in ("0.1", "1.0", "+Inf")]
    assert buckets == [2, 3, 4]
    assert found["a_page_seconds_count", "kernels"] == 4
    assert found["a_page_seconds_sum", "kernels"] == pytest.approx(7.65)
    assert found["a_failures_total", "memory"] == 1
    assert found["a_files", "ready"] == 3
    assert found["process_resident_memory_bytes", ""] > 1e6
    assert not any(name == "a_lost" for name, _ in found)


def test_who_is_not_well_says_so(listening: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"{listening}/health", timeout=10)
    assert refused.value.code == 503
    assert json.load(refused.value) == {"status": "not ready", "database": "missing"}
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"{listening}/metrics/../x", timeout=10)


def test_labels_are_bounded() -> None:
    counts = counters.Counts("a", "A.", "b")
    for number in range(1000):
        counts.add(str(number))
    assert len(counts.all()) == counters.MOST_LABELS + 1
    assert counts.all()[counters.OTHER] == 1000 - counters.MOST_LABELS


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("9464", Address("127.0.0.1", 9464)),
        ("0.0.0.0:9464", Address("0.0.0.0", 9464)),
        ("[::1]:80", Address("::1", 80)),
        ("off", None),
        ("", None),
    ],
)
def test_addresses(text: str, where: Address | None) -> None:
    assert prometheus.parse_address(text, "X") == where


@pytest.mark.parametrize("text", ["x", "0", "65536", "a:b", "::1:80", "9464x", "1" * 5000])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(ConfigError, match="X must be a port"):
        prometheus.parse_address(text, "X")


def test_a_port_that_is_taken() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        listener = Listener(Address("127.0.0.1", taken.getsockname()[1]), Figures(), lambda: (True, {}))
        with pytest.raises(ConfigError, match="Cannot listen on port"):
            listener.start()
