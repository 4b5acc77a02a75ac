"""The script that keeps the samples small removes lists by code address and one chart, and nothing else."""

import mmap
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ingest.ncu.messages import decode_message
from scripts import slim_samples
from tests.conftest import SAMPLES
from tests.support.every_report import slow_but
from tests.support.ncu_fixtures import blocks, write

SAMPLE = SAMPLES / "attention.ncu-rep"
ADDRESS = 139_956_802_176_512
pytestmark = pytest.mark.skipif(not SAMPLE.exists(), reason="no sample reports here")


def slim(report: Path) -> bytes:
    with report.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return slim_samples.slim_report(data)


def element(key: int) -> bytes:
    """A value of a list, by a number."""
    key_message = b"\x28" + slim_samples.encode_varint(key)
    return b"\x0a" + bytes([len(key_message)]) + key_message + b"\x12\x02\x28\x07"


def with_list(target: Path, name: bytes, keys: tuple[int, ...]) -> Path:
    """Writes the sample again with a list in a metric of each launch."""
    found = list(blocks(SAMPLE))
    strings = [text for header, _ in found for text in decode_message("Strings").FromString(header.strings).text]
    for header, parts in found:
        for at in range(len(parts) - header.kernels, len(parts)):
            result = decode_message("Result").FromString(parts[at])
            for place, blob in enumerate(result.metrics):
                metric = decode_message("Metric").FromString(blob)
                if strings[metric.name] == name:
                    metric.elements.extend(map(element, keys))
                    result.metrics[place] = metric.SerializeToString()
            parts[at] = result.SerializeToString()
    return write(target, found)


@pytest.mark.parametrize(
    "path", slow_but([SAMPLE], sorted(SAMPLES.glob("*.ncu-rep")), "reads every sample"), ids=lambda path: path.stem
)
def test_samples_are_slim(path: Path) -> None:
    assert slim(path) == path.read_bytes(), "scripts/slim_samples.py makes it smaller"


def test_lists_by_code_address_go(tmp_path: Path) -> None:
    without = with_list(tmp_path / "without.ncu-rep", b"inst_executed", ())
    report = with_list(tmp_path / "with.ncu-rep", b"inst_executed", (ADDRESS, ADDRESS + 16))
    assert report.stat().st_size > without.stat().st_size
    assert slim(report) == without.read_bytes()


@pytest.mark.parametrize(
    ("name", "keys"),
    [(b"inst_executed", (0, 1)), (b"launch__occupancy_per_block_size", (ADDRESS, ADDRESS + 16))],
    ids=["other_keys", "shown_by_a_page"],
)
def test_other_lists_stay(tmp_path: Path, name: bytes, keys: tuple[int, ...]) -> None:
    report = with_list(tmp_path / "with.ncu-rep", name, keys)
    assert slim(report) == report.read_bytes()


def test_one_chart_loses_its_body() -> None:
    body = b"\x2a\x03abc"
    for identifier in (slim_samples.CHARTS[0], b"SpeedOfLight_RooflineChart"):
        section = b"\x0a" + bytes([len(identifier)]) + identifier + body + b"\x18\x05"
        expected = section.replace(body, b"") if identifier in slim_samples.CHARTS else section
        assert slim_samples.slim_section(section) == expected


def test_exports_keep_their_rows(tmp_path: Path) -> None:
    export = tmp_path / "export.sqlite"
    with closing(sqlite3.connect(export)) as database:
        database.executescript("CREATE TABLE a (x INT); CREATE TABLE b (y TEXT); INSERT INTO a VALUES (2), (1), (1)")
        before = list(database.iterdump())
    size = export.stat().st_size
    slim_samples.main([str(export)])
    assert export.stat().st_size < size
    with closing(sqlite3.connect(export)) as database:
        assert list(database.iterdump()) == before


def test_definitions_of_gpu_metrics_are_left_out(tmp_path: Path) -> None:
    export = tmp_path / "export.sqlite"
    with closing(sqlite3.connect(export)) as database:
        database.execute("CREATE TABLE TARGET_INFO_SYSTEM_ENV (name TEXT, value TEXT)")
        rows = [("GpuMetricsConfig", "x" * 50_000), ("GpuInfo", "one")]
        database.executemany("INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES (?, ?)", rows)
        database.commit()
    slim_samples.main([str(export)])
    assert export.stat().st_size < 10_000
    with closing(sqlite3.connect(export)) as database:
        assert database.execute("SELECT * FROM TARGET_INFO_SYSTEM_ENV").fetchall() == rows[1:]


def test_tables_and_other_processes_are_left_out_where_asked(tmp_path: Path) -> None:
    export = tmp_path / "export.sqlite"
    with closing(sqlite3.connect(export)) as database:
        database.executescript("""
            CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (
                globalTid INTEGER, -- Serialized GlobalId.
                nameId INTEGER -- REFERENCES StringIds(id) -- Function
            );
            CREATE TABLE ThreadNames (
                nameId INTEGER, -- REFERENCES StringIds(id) -- Thread name
                globalTid INTEGER -- Serialized GlobalId.
            );
            CREATE TABLE PROCESSES (globalPid INTEGER, name TEXT);
            CREATE TABLE META_DATA_CAPTURE (name TEXT, value TEXT);
            CREATE TABLE TARGET_INFO_SYSTEM_ENV (name TEXT, value TEXT);
            CREATE TABLE StringIds (id INTEGER, value TEXT);
            CREATE TABLE LARGE (x INTEGER);
            INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES ((7 << 24) + 7, 1);
            INSERT INTO ThreadNames VALUES (2, (7 << 24) + 8), (3, (9 << 24) + 9);
            INSERT INTO PROCESSES VALUES (7 << 24, 'python'), (9 << 24, 'other');
            INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:WORKING_DIR', '/x'), ('PROCESS_0:COMMAND', 'python');
            INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES ('DeviceEnvironment', 'A=1'), ('GpuInfo', 'one');
            INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel'), (2, 'main'), (3, 'secret');
        """)
    slim_samples.main(["--without", "LARGE", "--own", str(export)])
    with closing(sqlite3.connect(export)) as database:
        left = {table: database.execute(f"SELECT * FROM {table}").fetchall() for (table,) in database.execute(
            "SELECT name FROM sqlite_master").fetchall()}  # fmt: skip
    assert left == {
        "CUPTI_ACTIVITY_KIND_RUNTIME": [((7 << 24) + 7, 1)],
        "ThreadNames": [(2, (7 << 24) + 8)],
        "PROCESSES": [(7 << 24, "python")],
        "META_DATA_CAPTURE": [("PROCESS_0:COMMAND", "python")],
        "TARGET_INFO_SYSTEM_ENV": [("GpuInfo", "one")],
        "StringIds": [(1, "cudaLaunchKernel"), (2, "main")],
    }
