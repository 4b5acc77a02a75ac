"""Traces that were cut, flipped, spliced and packed badly, 1,000 in all, by the real worker: none crashes or hangs.

A run takes those of one seed, ``make test-all`` every one.
"""

import gzip
import random
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from profiledb.report.library import Library
from tests.conftest import CORPUS, Ingest
from tests.ingest.torch.test_trace_load import EVENTS, text
from tests.support.bounded import CPU_S

SEEDS, FILES = 100, 10
SMALL = 32_000
"""Bytes of a stranger's trace that is spoiled, too; large ones take their time when they are whole."""
KNOWN = (
    "not a known report format", "no list of events", "no events", "none that begins", "cut off", "is empty",
    "is not JSON", "does not start like a trace",
)  # fmt: skip
"""What a refused trace is told."""
ODD = (b"null", b"1e999", b"-1", b'"', b"\\", b"[", b"}", b"18446744073709551616", b"\xff\xfe", b"NaN", b"0.0000001")


def traces() -> list[bytes]:
    """What is spoiled: a trace with each kind of event, and small ones of strangers where they are here."""
    found = [path.read_bytes() for path in sorted(CORPUS.glob("*.pt.trace.json*")) if path.stat().st_size < SMALL]
    plain = [gzip.decompress(one) if one.startswith(b"\x1f\x8b") else one for one in found]
    return [text(EVENTS).encode(), *(one for one in plain if len(one) < 10 * SMALL)]


def cut(raw: bytes, chance: random.Random) -> bytes:
    return raw[: chance.randrange(len(raw))]


def flipped(raw: bytes, chance: random.Random) -> bytes:
    spoiled = bytearray(raw)
    for _ in range(chance.choice((1, 5, 50))):
        spoiled[chance.randrange(len(spoiled))] ^= 1 << chance.randrange(8)
    return bytes(spoiled)


def spliced(raw: bytes, chance: random.Random) -> bytes:
    """A part of it stands once more, or no more, elsewhere."""
    low, high = sorted(chance.randrange(len(raw)) for _ in range(2))
    at = chance.randrange(len(raw))
    return raw[:at] + raw[low : min(high, low + 5000)] + raw[chance.choice((at, min(len(raw), at + 300))) :]


def odd(raw: bytes, chance: random.Random) -> bytes:
    """Values that no profiler writes, in place of others."""
    for _ in range(chance.choice((1, 20))):
        at = raw.find(b":", chance.randrange(len(raw))) + 1
        raw = raw[:at] + chance.choice(ODD) + raw[at + chance.randrange(8) :]
    return raw


SPOIL: Sequence[Callable[[bytes, random.Random], bytes]] = (cut, flipped, spliced, odd)


def spoiled(every: Sequence[bytes], chance: random.Random) -> bytes:
    """One of them, spoiled before it is packed, after that, or both."""
    raw = chance.choice(SPOIL)(chance.choice(every), chance)
    packed = gzip.compress(raw, 1) if chance.random() < 0.4 else raw
    return chance.choice((cut, flipped))(packed, chance) if packed is not raw and chance.random() < 0.5 else packed


@pytest.mark.sweep(parts=SEEDS)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_spoiled_traces(ingest: Ingest, inbox: Path, empty_library: Library, seed: int) -> None:
    """Each becomes a report, or is refused with a reason, within its bounds of time and memory."""
    chance, every = random.Random(seed), traces()
    for n in range(FILES):
        (inbox / f"{n}.pt.trace.json").write_bytes(spoiled(every, chance))
    done = ingest(inbox, empty_library.folder)
    jobs = empty_library.catalog.jobs()
    assert len(jobs) == FILES
    assert {job.state for job in jobs} <= {"ready", "failed", "duplicate"}
    failed = {job.message for job in jobs if job.state == "failed"}
    assert [message for message in failed if not any(one in message for one in KNOWN)] == []
    assert any(job.state == "ready" for job in jobs)
    assert done.cpu_s < FILES * CPU_S / 4


@pytest.mark.parametrize("pack", [lambda raw: raw, gzip.compress, lambda raw: zlib.compress(raw, wbits=31)[:-8]])
def test_what_was_cut_is_told(
    ingest: Ingest, inbox: Path, empty_library: Library, pack: Callable[[bytes], bytes]
) -> None:
    """A trace that ends early gives what it has, and a note."""
    raw = text(EVENTS).encode()
    (inbox / "cut.json").write_bytes(pack(raw[: len(raw) // 2]))
    ingest(inbox, empty_library.folder)
    with empty_library.cursor(empty_library.find("cut.json").id) as cursor:
        told = cursor.execute("SELECT text FROM diagnostic WHERE severity = 'warning'").fetchall()
        assert cursor.execute("SELECT count(*) > 0 FROM range").fetchall() == [(True,)]
    assert any("The rest is missing" in note for (note,) in told)
