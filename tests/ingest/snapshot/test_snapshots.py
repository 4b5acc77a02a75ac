"""Made-up memory snapshots: pickle and JSON, several devices, cut, hostile; PyTorch's own viewer as an oracle."""

import gzip
import importlib.util
import json
import os
import pickle
import pickletools
import struct
from pathlib import Path
from typing import Any

import pytest

from ingest.snapshot.pickle_reader import Machine
from ingest.snapshot.snapshot_rows import Rows, SnapshotParts
from profiledb.errors import ConversionError
from profiledb.library.library import Library
from profiledb.query import analysis
from tests.conftest import Ingest
from tests.support.bounded_conversion import converted, notes
from tests.support.dropped_files import job_of
from tests.support.every_report import slow_but

LOSS = [
    {"name": "relu", "filename": "/env/lib/python3.12/site-packages/torch/nn/functional.py", "line": 9},
    {"name": "loss", "filename": "/home/me/train.py", "line": 7},
]
MAIN = [{"name": "<module>", "filename": "/home/me/train.py", "line": 70}]


def event(action: str, at: int, size: int, addr: int = 0, frames: Any = None) -> dict[str, Any]:
    where = {"device_free": 5} if action == "oom" else {"addr": addr}
    return {"action": action, **where, "size": size, "stream": 0, "time_us": 10**15 + at, "frames": frames or []}


def block(address: int, size: int, state: str, requested: int = 0, frames: Any = None) -> dict[str, Any]:
    return {"address": address, "size": size, "requested_size": requested, "state": state, "frames": frames or []}


def segment(device: int, address: int, blocks: list[dict[str, Any]]) -> dict[str, Any]:
    held = [one for one in blocks if one["state"] == "active_allocated"]
    size = sum(one["size"] for one in held)
    return {
        "device": device, "address": address, "total_size": sum(one["size"] for one in blocks), "allocated_size": size,
        "active_size": size, "requested_size": sum(one["requested_size"] for one in held), "stream": 0,
        "segment_type": "large", "segment_pool_id": (0, 0), "is_expandable": False, "frames": [], "blocks": blocks,
    }  # fmt: skip


def snapshot() -> dict[str, Any]:
    """Two devices: on the first 100 bytes from before, 300 that stay, 200 that go; on the second one allocation."""
    first = [
        event("segment_alloc", 0, 2048, 4096), event("alloc", 1, 300, 4096 + 512, LOSS),
        event("alloc", 2, 200, 4096 + 1024, LOSS), event("free_requested", 5, 200, 4096 + 1024, MAIN),
        event("free_completed", 6, 200, 4096 + 1024), event("oom", 7, 10**9),
    ]  # fmt: skip
    blocks = [
        block(4096, 512, "active_allocated", 100, MAIN), block(4608, 512, "active_allocated", 300, LOSS),
        block(5120, 1024, "inactive"),
    ]  # fmt: skip
    return {
        "segments": [segment(0, 4096, blocks), segment(1, 1 << 40, [block(1 << 40, 512, "active_allocated", 50)])],
        "device_traces": [first, [event("alloc", 3, 50, 1 << 40, MAIN)], []],
        "allocator_settings": {"expandable_segments": False},
        "external_annotations": [
            {"stage": "START", "name": "step_1", "device": 0, "time_us": 10**15 + 1},
            {"stage": "END", "name": "step_1", "device": 0, "time_us": 10**15 + 4},
        ],
    }


def forms() -> dict[str, bytes]:
    data = snapshot()
    found = {f"protocol{n}.pickle": pickle.dumps(data, n) for n in (2, 4, 5)}
    plain = json.dumps(data).encode()
    return found | {
        "a.json": plain,
        "b.json": json.dumps(data, indent=1).encode(),
        "c.pickle.gz": gzip.compress(found["protocol4.pickle"]),
    }


@pytest.mark.parametrize("name", slow_but(["b.json", "c.pickle.gz"], forms(), "asks two analyses of one more form"))
def test_every_form_says_the_same(ingest: Ingest, inbox: Path, empty_library: Library, name: str) -> None:
    (inbox / name).write_bytes(forms()[name])
    query = converted(ingest, inbox, empty_library, name)
    assert query("""
        SELECT kind, device_id, time_ns, bytes, allocated_bytes, reserved_bytes, stack_id IS NOT NULL
        FROM tensor_event WHERE kind <> 'state' ORDER BY event_id
    """) == [
        ("before", 0, 0, 100, None, None, True), ("segment", 0, 0, 2048, 100, 2048, False),
        ("memory", 0, 1000, 300, 400, 2048, True), ("memory", 0, 2000, 200, 600, 2048, True),
        ("memory", 0, 5000, -200, 400, 2048, True), ("out_of_memory", 0, 7000, 10**9, 400, 2048, False),
        ("memory", 1, 3000, 50, 50, 512, True),
    ]  # fmt: skip
    assert query("SELECT count(*) FROM tensor_block") == [(4,)]
    assert query("SELECT name, start_ns, end_ns FROM range JOIN range_name USING (name_id)") == [("step_1", 1000, 4000)]
    assert notes(query) == ["Out of memory on GPU 0: 1.00 GB asked for, 5 B of it was free."]
    report = empty_library.find(name).id
    rows = analysis.run(empty_library, report, "tensor_peak").to_dict("records")
    assert [(row["device"], row["name"], row["bytes"]) for row in rows] == [
        ("GPU 0", "/home/me/train.py(7): loss", 500), ("GPU 0", "/home/me/train.py(70): <module>", 100),
        ("GPU 1", "/home/me/train.py(70): <module>", 50),
    ]  # fmt: skip
    (tree, *_) = analysis.run(empty_library, report, "tensor_tree").to_dict("records")
    assert (tree["function"], tree["bytes"]) == ("loss (train.py:7)", 500)


def test_segments_are_those_of_the_viewer_of_pytorch(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    """``segsum`` of torch/cuda/_memory_viz.py, loaded from its file, because importing torch takes seconds."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        pytest.skip("PyTorch is not installed")
    path = Path(spec.origin).parent / "cuda" / "_memory_viz.py"
    loaded = importlib.util.spec_from_file_location("memory_viz", path)
    assert loaded is not None
    assert loaded.loader is not None
    viz = importlib.util.module_from_spec(loaded)
    loaded.loader.exec_module(viz)
    (inbox / "a.pickle").write_bytes(pickle.dumps(snapshot()))
    ingest(inbox, empty_library.folder)
    rows = analysis.run(empty_library, empty_library.find("a.pickle").id, "tensor_fragmentation")
    told = viz.segsum(snapshot())
    assert f"segments: {rows['segments'].sum()}\n" in told
    assert f"total_reserved: {viz.Bytes(int(rows['bytes'].sum()))}\n" in told
    assert f"total_allocated: {viz.Bytes(int(rows['used_bytes'].sum()))}\n" in told
    inside, outside = int(rows["rounding_bytes"].sum()), int(rows["free_bytes"].sum() + rows["awaiting_bytes"].sum())
    assert f"total_free: {viz._report_free(outside, inside)}\n" in told


@pytest.mark.parametrize("form", ["protocol4.pickle", "a.json"])
def test_a_cut_snapshot_gives_what_came_before(ingest: Ingest, inbox: Path, empty_library: Library, form: str) -> None:
    whole = forms()[form]
    at = whole.rindex(b"free_completed" if form == "a.json" else b"oom")
    (inbox / form).write_bytes(whole[:at])
    query = converted(ingest, inbox, empty_library, form)
    assert query("SELECT count(*) FROM tensor_segment") == [(2,)]
    assert any("cut off" in note for note in notes(query))


class Evil:
    """Runs a program where Python's own reader reads it."""

    def __reduce__(self) -> Any:
        return os.system, ("touch /tmp/warpdeck-was-here",)


HEAD = b"\x80\x04}\x94\x8c\x08segments\x94"
HOSTILE = {
    "reduce": (pickle.dumps({"segments": [Evil()]}), "the instruction STACK_GLOBAL"),
    "old global": (HEAD + b"cos\nsystem\n(S'id'\ntR.", "the instruction GLOBAL"),
    "extension": (HEAD + b"\x82\x01.", "the instruction EXT1"),
    "persistent": (HEAD + b"\x8c\x01xQ.", "the instruction BINPERSID"),
    "built": (HEAD + b"}}b.", "the instruction BUILD"),
    "deep": (HEAD + b"(]" * 100_000, "more than 64 deep"),
    "a giant text": (HEAD + b"X" + struct.pack("<I", 0xFFFFFFFF), "a text of 4,294,967,295 bytes"),
    "a giant number": (HEAD + b"\x8a\xff" + b"\x01" * 255 + b".", "a number of 255 bytes"),
    "an entry far out": (HEAD + b"]r\xff\xff\xff\xff.", "holds no memory"),
    "an entry that is not there": (HEAD + b"j\xff\xff\xff\xff.", "holds no memory"),
    "nothing on the stack": (HEAD + b"aaaa.", "holds no memory"),
    "a dictionary as a key": (HEAD + b"}}}su.", "holds no memory"),
    "empty": (pickle.dumps({"segments": [], "device_traces": []}), "holds no memory"),
    "empty JSON": (b'{"segments": [], "device_traces": []}', "holds no memory"),
    "deep JSON": (b'{"segments": [' + b"[" * 100_000, "holds no memory"),
}


@pytest.mark.parametrize("name", ["reduce", "deep JSON"])
def test_hostile_files_are_refused(ingest: Ingest, inbox: Path, empty_library: Library, name: str) -> None:
    content, message = HOSTILE[name]
    (inbox / "x.pickle").write_bytes(content)
    ingest(inbox, empty_library.folder)
    job = job_of(empty_library, inbox / "x.pickle")
    assert (job.state, message in job.message) == ("failed", True), job
    assert not Path("/tmp/warpdeck-was-here").exists()


def rows_of(content: bytes) -> tuple[Machine, dict[str, Rows]]:
    found: dict[str, Rows] = {}
    parts = SnapshotParts(lambda table, rows: found.setdefault(table, []).extend(rows))
    machine = Machine(parts, iter([content[at : at + 7] for at in range(0, len(content), 7)]))
    machine.read()
    parts.finish()
    return machine, found


@pytest.mark.parametrize("name", [name for name in HOSTILE if "JSON" not in name])
def test_nothing_but_plain_data_is_read(name: str) -> None:
    content, message = HOSTILE[name]
    if "holds no memory" in message:
        machine, found = rows_of(content)
        assert not found
        assert machine.damage in ("" if name == "empty" else "damaged", "damaged")
    else:
        with pytest.raises(ConversionError, match=message):
            rows_of(content)


def test_laughs_stay_references() -> None:
    """Nested lists of the same list are a few objects; as copies they would be billions."""
    laughs = (
        HEAD
        + b"]\x94"
        + b"".join(b"](" + b"h" + bytes([1 + n]) + (b"h" + bytes([1 + n])) * 9 + b"e\x94" for n in range(60))
    )
    machine, found = rows_of(laughs + b".")
    assert (machine.damage, found) == ("", {})


def test_settings_are_texts_however_deep_they_are(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    """A hundred tuples, each with the previous one twice, would make a text that no disk holds."""
    deep: Any = ()
    for _ in range(100):
        deep = (deep, deep)
    settings = {"PYTORCH_CUDA_ALLOC_CONF": deep, "roundup_power2_divisions": {"256": 4, "x": deep}, "max_split_size": 7}
    (inbox / "deep.pickle").write_bytes(pickle.dumps(snapshot() | {"allocator_settings": settings}))
    query = converted(ingest, inbox, empty_library, "deep.pickle")
    kept = query("SELECT name, value FROM capture_setting ORDER BY name")
    assert kept == [("max_split_size", "7"), ("roundup_power2_divisions", "256: 4")]


def test_every_instruction_of_a_snapshot_is_known() -> None:
    """The instructions that Python's writer uses for plain data, at each protocol, and no others."""
    steps = Machine(SnapshotParts(lambda *_: None), iter(()))._steps
    used = {op.name for n in (2, 3, 4, 5) for op, _, _ in pickletools.genops(pickle.dumps(snapshot(), n))}
    known = {op.name for op in pickletools.opcodes if steps[ord(op.code)]}
    assert used - {"STOP"} <= known
    assert not known & {
        "GLOBAL", "STACK_GLOBAL", "REDUCE", "BUILD", "INST", "OBJ", "NEWOBJ", "NEWOBJ_EX", "EXT1", "EXT2", "EXT4",
        "PERSID", "BINPERSID", "DUP", "BYTEARRAY8", "NEXT_BUFFER", "LONG4", "BINUNICODE8",
    }  # fmt: skip
