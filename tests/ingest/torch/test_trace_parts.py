"""Parts of the trace reader, without a database: packed sources, exact text, events cut from a stream."""

import gzip
import io
import json
import random
import zipfile
from pathlib import Path

import pytest

from ingest.torch import cutter, json_text, source
from ingest.torch.cutter import Cutter
from profiledb.errors import ConversionError

EVENTS = [
    {"ph": "X", "name": 'say "}{][" \\', "args": {"a": [1, {"b": "]"}]}},
    {"ph": "X", "name": "\\\\", "args": {}},
    {"ph": "M", "args": {"name": "thread"}},
    {"ph": "i", "name": "ünïcode \n end"},
]


def cut(text: bytes, size: int) -> tuple[list[object], Cutter]:
    """The events of a trace that comes in blocks of a size, each parsed by Python's json."""
    cutting = Cutter()
    blocks = (text[at : at + size] for at in range(0, len(text), size))
    events: list[object] = []
    for batch in cutting.batches(blocks):
        for start, end in zip(batch.starts.tolist(), batch.ends.tolist(), strict=True):
            try:
                events.append(json.loads(batch.data[start:end]))
            except ValueError:
                events.append(None)
    return events, cutting


@pytest.mark.parametrize("indent", [None, 1, 4])
@pytest.mark.parametrize("size", [7, 64, 10_000])
@pytest.mark.parametrize("bare", [False, True])
def test_events_are_cut_at_any_size_of_blocks(indent: int | None, size: int, bare: bool) -> None:
    trace = EVENTS if bare else {"a": {"traceEvents": [1]}, "traceEvents": EVENTS, "z": "end"}
    events, cutting = cut(json.dumps(trace, indent=indent, ensure_ascii=False).encode(), size)
    assert events == EVENTS
    assert (cutting.closed, cutting.lost) == (True, 0)
    assert bare or b'"z": "end"' in cutting.tail


@pytest.mark.parametrize(
    "text", [b"{}", b'{"a": "traceEvents"}', b'{"traceEvents": 1}', b'{"b": {"traceEvents": []}}', b""]
)
def test_no_list_of_events(text: bytes) -> None:
    with pytest.raises(ConversionError, match="no list of events"):
        cut(text, 100)


@pytest.mark.parametrize("seed", range(40))
def test_a_flipped_byte_costs_few_events(seed: int) -> None:
    chance = random.Random(seed)
    wanted = [{"ph": "X", "name": f"op {n}", "ts": n, "args": {"n": [n]}} for n in range(300)]
    text = bytearray(json.dumps({"traceEvents": wanted}, indent=1).encode())
    at = chance.randrange(100, len(text) - 100)
    text[at] = chance.choice(b'"{}[]\\,:x\n')
    events, _ = cut(bytes(text), 5000)
    whole = [event for event in events if event in wanted]
    assert len(whole) >= 298, (at, bytes(text[at - 20 : at + 20]))


@pytest.mark.parametrize("seed", range(30))
def test_a_cut_trace_gives_what_stands_before_the_cut(seed: int) -> None:
    wanted = [{"ph": "X", "name": f"op {n}", "args": {"name": n}} for n in range(300)]
    text = json.dumps({"traceEvents": wanted}).encode()
    at = random.Random(seed).randrange(30, len(text) - 2)
    events, cutting = cut(text[:at], 1000)
    whole = [event for event in events if isinstance(event, dict) and "ph" in event]
    assert not cutting.closed
    assert whole == wanted[: len(whole)]
    assert text[:at].count(b'"ph"') - len(whole) in (0, 1)


def test_an_event_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cutter, "EVENT_MOST", 1000)
    long = '{"ph": "X", "name": "' + "x" * 5000 + '"}'
    events, cutting = cut(f'[{{"ph": "i"}}, {long}, {{"ph": "f"}}]'.encode(), 100)
    assert events == [{"ph": "i"}, {"ph": "f"}]
    assert cutting.lost == 1


def test_brackets_without_end_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cutter, "LOST_MOST", 20)
    events, cutting = cut(b"[" + b"}" * 100_000, 1000)
    assert (events, cutting.lost) == ([], 21)
    events, _ = cut(b'{"traceEvents": [' + b"[" * 3_000_000, 1 << 20)
    assert events == []


def readable(text: str, size: int) -> str:
    raw = text.encode()
    return b"".join(json_text.Text().blocks(raw[at : at + size] for at in range(0, len(raw), size))).decode()


@pytest.mark.parametrize("size", [3, 1000])
def test_keys_have_one_spelling(size: int) -> None:
    event = '{"external id": 1, "x": N/A, "y": "N/A, z: N/A", "s": "\\"Bytes\\": external id", "Bytes": 5}'
    assert json.loads(readable(event, size)) == {
        "External id": 1, "x": None, "y": "N/A, z: N/A", "s": '"Bytes": external id', "tensor bytes": 5
    }  # fmt: skip


def test_bytes_that_are_no_utf_8() -> None:
    text = json_text.Text()
    assert (
        b"".join(text.blocks(iter([b'{"a": "\xff\xe4', b'\xbd\xa0"}'])))
        == '{"a": "\N{REPLACEMENT CHARACTER}你"}'.encode()
    )
    assert text.repaired


TRACE = json.dumps({"traceEvents": [{"ph": "X", "n": n} for n in range(20_000)]}).encode()


def read(path: Path, content: bytes) -> tuple[bytes, str]:
    path.write_bytes(content)
    packed = source.Source(path)
    return b"".join(packed.blocks()), packed.damage


def zipped(**members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "/"), content)
    return file.getvalue()


def test_packed_traces(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    packed = gzip.compress(TRACE)
    in_two = gzip.compress(TRACE[:1000]) + gzip.compress(TRACE[1000:])
    for content in (TRACE, packed, in_two, packed + b"\0" * 512, packed + b"more", zipped(a=TRACE),
                    zipped(a=packed, b=b"notes", **{"..__..__c": b"x"})):  # fmt: skip
        assert read(path, content) == (TRACE, "")
        assert source.is_trace(path)
    got, damage = read(path, packed[:-2000])
    assert (TRACE.startswith(got), len(got) > 50_000, damage) == (True, True, "cut off")
    spoiled = bytearray(packed)
    spoiled[len(packed) // 2] ^= 0xFF
    assert read(path, bytes(spoiled))[1] in ("damaged", "cut off")
    spoiled = bytearray(zipped(a=TRACE))
    spoiled[len(spoiled) // 2] ^= 0xFF
    assert read(path, bytes(spoiled))[1] == "damaged"


def test_archives_that_are_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "trace.zip"
    with pytest.raises(ConversionError, match="holds 2 traces"):
        read(path, zipped(a=TRACE, b=TRACE))
    with pytest.raises(ConversionError, match="holds 0 traces"):
        read(path, zipped(a=b"{}"))
    assert not source.is_trace(path)
    with pytest.raises(ConversionError, match="damaged zip"):
        read(path, zipped(a=TRACE)[:-30])
    monkeypatch.setattr(source, "MEMBERS_BYTES", 1000)
    with pytest.raises(ConversionError, match="too many members"):
        read(path, zipped(**{f"m{n}": b"" for n in range(100)}))
    assert not source.is_trace(path)


def test_a_bomb_ends_at_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "UNPACKED_BYTES", 50 << 20)
    for content in (
        gzip.compress(b'{"traceEvents": [' + b" " * (60 << 20), 1),
        zipped(a=b'{"traceEvents": [' + b" " * (60 << 20)),
    ):
        with pytest.raises(ConversionError, match="GiB when unpacked"):
            read(tmp_path / "bomb", content)
