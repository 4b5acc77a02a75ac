"""Small hand-made captures of ranges and kernels, loaded by the real loader."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import pytest

from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.report.schema import SCHEMA_VERSION
from tests.support import exports
from tests.support.exports import MAIN, kernel

Range = tuple[int, int | None, str]
"""Start and end in ns, name; the end of an open range is None."""
Work = tuple[int, int, int, str]
"""Start of a call of 10 ns in a range, start and end of its kernel in ns, and its name: one, two, three."""
Capture = Callable[..., str]

CALL = ("start", "end", "globalTid", "correlationId", "nameId", "eventClass", "returnValue")
NAMES = ("one", "two", "three")


@lru_cache(maxsize=4)
def _load(ranges: tuple[Range, ...], work: tuple[Work, ...]) -> bytes:
    """Return a report file of ranges and work. Tests of a module repeat the same ones; loading them takes 0.3 s."""
    nvtx = [(start, end, 59, name, None, MAIN, 0) for start, end, name in ranges]
    calls = [(call, call + 10, MAIN, n, 1, 0, 0) for n, (call, *_) in enumerate(work, 1)]
    ran = [
        kernel(begin, end, name=1 + NAMES.index(name), correlation=n) for n, (_, begin, end, name) in enumerate(work, 1)
    ]
    gpu = {**exports.kernels(*ran), "CUPTI_ACTIVITY_KIND_RUNTIME": (CALL, calls)} if work else {}
    window = {"ANALYSIS_DETAILS": (("duration", "startTime", "stopTime"), [(100_000, 0, 100_000)])}
    with TemporaryDirectory() as name:
        folder = Path(name)
        path = exports.write(folder / "ranged.sqlite", {**gpu, "NVTX_EVENTS": (exports.NVTX, nvtx), **window})
        with exports.loaded(folder / "ranged.duckdb", path):
            pass
        return (folder / "ranged.duckdb").read_bytes()


@pytest.fixture(name="capture")
def make_capture(library: Library, tmp_path: Path) -> Capture:
    """Return a function that publishes a capture of ranges and work and returns its id.

    ``classes`` are those of the kernels, ``gpus`` rows of the GPU table, and ``after`` is SQL to run after the load.
    """

    def capture_(
        ranges: Sequence[Range], work: Sequence[Work] = (), classes: Mapping[str, str] | None = None,
        gpus: Sequence[dict[str, Any]] = (), after: str = "",
    ) -> str:  # fmt: skip
        number = len(library.list())
        database = tmp_path / f"ranged_{number}.duckdb"
        database.write_bytes(_load(tuple(ranges), tuple(work)))
        with duckdb.connect(str(database)) as db:
            db.execute("UPDATE kernel_name SET class = 'other'")
            for name, kind in (classes or {}).items():
                db.execute("UPDATE kernel_name SET class = ? WHERE short = ?", [kind, name])
            for row in gpus:
                names = ", ".join(row)
                db.execute(f"INSERT INTO gpu ({names}) VALUES ({', '.join('?' * len(row))})", list(row.values()))
            if after:
                db.execute(after)
        manifest = Manifest(
            f"{number:016x}", SCHEMA_VERSION, f"ranged_{number}.sqlite", "nsys", str(number), 1,
            rows={"kernel": len(work)},
        )  # fmt: skip
        library.publish(database, manifest)
        return manifest.id

    return capture_
