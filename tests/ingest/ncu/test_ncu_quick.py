"""Metrics read without the wheel equal the wheel's, on every available report."""

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from ingest.ncu import container, messages, slim_copy, wheel
from ingest.ncu.tables import Capture
from tests.support.ncu_fixtures import CORPUS, needs_corpus, some_reports, with_values

pytestmark = pytest.mark.skipif(
    not wheel.is_available(), reason="the ncu-report wheel does not exist for this platform"
)


def tables(capture: Capture) -> list[object]:
    """Everything in a capture."""
    rest = [getattr(capture, part.name) for part in fields(capture) if part.name != "metrics"]
    metrics = capture.metrics
    return [*rest, metrics.ids, metrics.units, metrics.table().to_pydict(), metrics.instances.table().to_pydict()]


@pytest.mark.parametrize("path", some_reports(), ids=lambda path: path.stem)
def test_every_report_is_the_same_cell_by_cell(path: Path, tmp_path: Path) -> None:
    frame = container.read_frame(path)
    measured = slim_copy.write_slim_copy(path, tmp_path / "slim")
    assert len(measured) == len(frame.processes)
    whole = wheel.read_report(path, frame)
    assert whole.metrics.value
    assert tables(wheel.read_report(tmp_path / "slim", frame, measured)) == tables(whole)
    assert tables(wheel.read_quick(path, frame, tmp_path)) == tables(whole)


@needs_corpus
def test_what_is_unlike_the_description_is_left_to_the_wheel(tmp_path: Path) -> None:
    path = CORPUS / "vec_add_1660s_full.ncu-rep"
    # Two values in one message: the description allows it, no ncu has written it.
    both = b"\x19" + np.float64(7).tobytes() + b"\x28\x07"
    odd = with_values(path, tmp_path / "odd", {"gpu__time_duration.sum": both})
    with pytest.raises(ValueError, match="unlike"):
        slim_copy.write_slim_copy(odd, tmp_path / "slim")
    frame = container.read_frame(odd)
    quick = wheel.read_quick(odd, frame, tmp_path)
    assert [text for _, _, text in quick.diagnostics if "may be damaged" in text]
    quick.diagnostics.clear()
    assert tables(quick) == tables(wheel.read_report(odd, frame))


def varint(number: int) -> bytes:
    """A number as protobuf writes it."""
    low, high = number & 127, number >> 7
    return bytes([low | 128]) + varint(high) if high else bytes([low])


def test_integers_of_every_length() -> None:
    numbers = [0, 1, 127, 128, 300, 2**31, 2**32 - 1, 2**35 + 9, 2**49, 2**53 + 1, 2**56, 2**63 - 1]
    listed = [
        b"\x0a" + bytes([1 + len(varint(n))]) + b"\x28" + varint(n) + b"\x12\x05\x15" + b"\0\0\0?" for n in numbers
    ]
    keys, values = messages.decode_elements(listed)
    assert keys.integer.tolist() == numbers
    assert keys.number.tolist() == [float(number) for number in numbers]
    assert values.number.tolist() == [0.5] * len(numbers)


def test_texts_long_and_short() -> None:
    texts = ["", "a", "é" * 60, "x" * 300]
    blobs = []
    for at, text in enumerate(texts):
        value = b"\x0a" + varint(len(text.encode())) + text.encode()
        blobs.append(b"\x08" + varint(at * 1000) + b"\x12" + varint(len(value)) + value)
    names, values = messages.decode_metrics([*blobs, b"\x08\x05"])
    assert names.tolist() == [0, 1000, 2000, 3000, 5]
    assert values.texts == dict(enumerate(texts))
    assert np.isnan(values.number).all()


@pytest.mark.parametrize("blob", [b"\x08\x01\x12\x09\x19", b"\x08\x01\x12\x02\x28\x80", b"\x10\x01", b"\x08\x01\x1f"])
def test_broken_metrics_are_said(blob: bytes) -> None:
    with pytest.raises(ValueError, match="unlike"):
        messages.decode_metrics([blob])
