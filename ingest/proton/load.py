"""Load a profile of Triton's proton into the tables of a report: sums by call path, and no timeline."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from ingest import diagnostics, scrub
from ingest.derive import classes, complete, readable_names, stage
from ingest.json_stream import JsonStream
from ingest.proton.tree import Tree
from ingest.torch.head import parse_whole_number
from ingest.torch.source import Source
from profiledb.errors import ConversionError
from profiledb.report.schema import quote
from profiledb.words import counted

KIND = "proton"
TOOL = "Triton's proton"
_COLUMNS = {
    "path_id": pa.int64(), "last_id": pa.int64(), "parent_id": pa.int64(), "level": pa.int32(), "name": pa.string(),
    "device_type": pa.string(), "device_id": pa.int32(), "calls": pa.int64(), "total_ns": pa.int64(),
    "flops": pa.float64(), "bytes": pa.float64(), "metrics_json": pa.string(),
}  # fmt: skip
_PART = 1 << 15
"""Rows that are inserted at once."""
_MOST_DEVICES = 1024
_ARCH = 8
"""Digits of a compute capability, at most."""


def load_profile(db: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Fill the tables of the report that ``db`` has open as catalog ``report``.

    Raises:
        ConversionError: no path has a figure, or the file is damaged at its start.
    """
    source = Source(path)
    stream = JsonStream(source.blocks())
    tree = Tree(stream)
    stream.read(tree.document)
    damage = source.damage or stream.damage
    if not any(amount is not None for row in tree.rows for amount in row[7:]):
        raise ConversionError(
            f"{path.name} is {damage}." if damage else f"{path.name} has call paths, but no figure of any.",
            hint="Copy it again from its source, or capture again."
            if damage
            else 'Launch kernels between triton.profiler.start("run") and triton.profiler.finalize().',
        )
    stage(db)
    _insert_paths(db, tree)
    _write_facts(db, tree)
    complete(db, rest=lambda: _write_names(db))
    diagnostics.note_damage(db, "The profile", damage, counted(len(tree.rows), "call path"))
    if tree.impossible:
        diagnostics.note(db, "warning", f"{counted(tree.impossible, 'impossible figure')} excluded.")
    text = "proton sums launches by call path: when each of them ran is not in the file, nor how much they vary."
    diagnostics.note(db, "info", text)


def _insert_paths(db: duckdb.DuckDBPyConnection, tree: Tree) -> None:
    clean = scrub.make_scrub_expression(db)
    db.execute(f"CREATE OR REPLACE TEMP MACRO clean(t) AS replace({clean}, chr(0), ' ')")
    names = ", ".join(_COLUMNS)
    for at in range(0, len(tree.rows), _PART):
        columns = zip(*tree.rows[at : at + _PART], strict=True)
        data = {name: pa.array(cells, kind) for (name, kind), cells in zip(_COLUMNS.items(), columns, strict=True)}
        db.register("proton_batch", pa.table(data))
        try:
            db.execute(f"""
                INSERT INTO path_sum ({names})
                SELECT * REPLACE (
                    clean(name) AS name, clean(device_type) AS device_type, clean(metrics_json) AS metrics_json
                ) FROM proton_batch
            """)
        finally:
            db.unregister("proton_batch")


def _write_names(db: duckdb.DuckDBPyConnection) -> None:
    """Name the kernels: the paths with launches of their own."""
    db.execute(f"""
        INSERT INTO kernel_name BY NAME
        SELECT row_number() OVER (ORDER BY name)::INTEGER AS name_id, name AS demangled,
            {classes.shorten_name("name")} AS short
        FROM (SELECT DISTINCT name FROM path_sum WHERE calls IS NOT NULL OR total_ns IS NOT NULL);
        UPDATE path_sum SET name_id = kernel_name.name_id FROM kernel_name
        WHERE (calls IS NOT NULL OR total_ns IS NOT NULL) AND demangled = name
    """)
    readable_names.spell_out(db)


def _write_facts(db: duckdb.DuckDBPyConnection, tree: Tree) -> None:
    db.execute(
        f"INSERT INTO report (kind, tool, converter) VALUES ({quote(KIND)}, {quote(TOOL)}, 'JSON of proton (hatchet)')"
    )
    columns = ("gpu_id", "name", "compute_capability", "sm_count", "clock_hz", "memory_bandwidth_bytes_per_s")
    for facts in _list_gpus(tree):
        cells = ("NULL" if cell is None else quote(cell) if isinstance(cell, str) else str(cell) for cell in facts)
        db.execute(f"INSERT INTO gpu ({', '.join(columns)}) VALUES ({', '.join(cells)})")


def _list_gpus(tree: Tree) -> Iterator[tuple[Any, ...]]:
    """Yield number, name, compute capability, SMs, clock and bandwidth (two transfers a cycle) of each GPU."""
    seen: set[int] = set()
    for kind, number, facts in tree.devices[:_MOST_DEVICES]:
        gpu = parse_whole_number(number, 1 << 30)
        if gpu is None or gpu in seen:
            continue
        seen.add(gpu)
        arch, is_nvidia = scrub.scrub_text(str(facts.get("arch", "")))[:100], kind == "CUDA"
        capability = f"{arch[:-1]}.{arch[-1]}" if is_nvidia and arch.isdecimal() and 2 <= len(arch) < _ARCH else None
        clock, memory, width = (
            parse_whole_number(facts.get(key), 1 << 30) for key in ("clock_rate", "memory_clock_rate", "bus_width")
        )
        yield (
            gpu, f"AMD GPU, {arch}" if kind == "HIP" and arch else None, capability,
            parse_whole_number(facts.get("num_sms"), 1 << 30), clock * 1000 if clock else None,
            2 * memory * 1000 * width // 8 if is_nvidia and memory and width else None,
        )  # fmt: skip
