"""Decode metric values from the messages of a .ncu-rep, many at once.

The ``ncu-report`` wheel returns one value per call and parses every message completely, which takes minutes for a
thousand launches. Here protobuf splits a message only into the bytes of each value, and numpy decodes those together.
Field numbers are those of NVIDIA's ``ProfilerReport.proto`` and ``ProfilerResultsCommon.proto``; fields that are not
named here stay unchanged when a message is written again.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

# Fields of ProfileResult by number that are not read here, numbers and messages; those that every launch has.
_NUMBERS = (1, 2, 3, 4, 8, 14, 16, 20, 22, 23, 29, 30)
_MESSAGES = (6, 7, 9, 10, 11, 12, 15, 21, 24, 25, 26, 27, 28)
_NEEDED = ("mangled", *(f"field_{number}" for number in (1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 15)))
# Fields by message: name, number, type, whether it repeats.
_FIELDS = {
    "Metric": (("name", 1, "uint32", False), ("value", 2, "bytes", False), ("elements", 3, "bytes", True)),
    "Result": (
        *(("mangled", 5, "bytes", False), ("metrics", 13, "bytes", True), ("sections", 17, "bytes", True)),
        *(("comments", 18, "bytes", True), ("rules", 19, "bytes", True)),
        *((f"field_{number}", number, "uint64", False) for number in _NUMBERS),
        *((f"field_{number}", number, "bytes", False) for number in _MESSAGES),
    ),
    "Header": (
        ("sources", 1, "uint32", False),
        ("kernels", 2, "uint32", False),
        ("strings", 4, "bytes", False),
        ("size", 5, "uint32", False),
        ("process", 6, "bytes", False),
        ("ranges", 7, "uint32", False),
        ("cmdlists", 8, "uint32", False),
        ("graphs", 9, "uint32", False),
    ),
    "Strings": (("text", 1, "bytes", True),),
}
_CONTROL = re.compile(rb"[\x00-\x08]")
# Tags of ProfileMetricValue: a text, a float, a double, and integers of 32 and 64 bits. It holds one of them.
_TEXT, _FLOAT, _DOUBLE, _INTEGERS = 0x0A, 0x15, 0x19, (0x20, 0x28)
_FLOATS = ((_FLOAT, "<f4"), (_DOUBLE, "<f8"))
# Tags of ProfileMetricListElement: the key of the value, and the value; and of ProfileMetricResult, whose value has the
# same tag.
_KEY, _VALUE = 0x0A, 0x12
_NAME, _LIST, _CATEGORY = 0x08, 0x1A, 0x20
_LONGEST_VARINT = 10
# Bytes that are read beyond a number.
_ROOM = 24
# Masks of the first n bytes of a word, and of the bits that mark a byte as not the last of its number.
_KEEP = np.array([(1 << 8 * count) - 1 for count in range(9)], np.uint64)
_CONTINUED = np.uint64(0x8080808080808080)

Numbers = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Values:
    """Decoded values: without one, ``number`` is NaN and ``integer`` 0; ``texts`` by position; ``tag`` 0: empty."""

    tag: Bytes
    number: Numbers
    integer: Integers
    texts: dict[int, str]

    @property
    def is_integer(self) -> npt.NDArray[np.bool_]:
        """Tells for each value whether it is an integer."""
        return np.isin(self.tag, _INTEGERS)

    def take(self, places: Integers) -> "Values":
        """Return the values at some positions."""
        tag = self.tag[places]
        texts = {at: self.texts[int(places[at])] for at in np.flatnonzero(tag == _TEXT).tolist()}
        return Values(tag, self.number[places], self.integer[places], texts)


@cache
def decode_message(name: str) -> Any:
    """Return the class of a message of ``_FIELDS``."""
    from google.protobuf import (  # type: ignore[import-untyped]
        descriptor_pb2,
        descriptor_pool,
        message_factory,
    )

    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="ncu", package="ncu", syntax="proto2")
    for title, fields in _FIELDS.items():
        entry = file.message_type.add(name=title)
        for field, number, kind, repeats in fields:
            label = kinds.LABEL_REPEATED if repeats else kinds.LABEL_OPTIONAL
            entry.field.add(name=field, number=number, label=label, type=kinds.Type.Value(f"TYPE_{kind.upper()}"))
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"ncu.{name}"))


def decode_launch(data: bytes) -> Any:
    """Decode a launch, a message ``Result``.

    A damaged tag turns a field into one of another number or type, which protobuf accepts silently. Fields are written
    in the order of their numbers, those of newer versions last, so writing the message again must give the same bytes.

    Raises:
        ValueError: the launch lacks fields, or its fields do not match NVIDIA's description.
    """
    result = decode_message("Result").FromString(data)
    if result.SerializeToString() != data:
        raise ValueError("a launch with fields that are unlike NVIDIA's description")
    if not all(result.HasField(field) for field in _NEEDED):
        raise ValueError("a launch that lacks fields")
    if _CONTROL.search(result.field_12):  # a comment, the field in front of the metrics
        raise ValueError("a comment that is no text")
    return result


def decode_texts(table: bytes) -> list[str]:
    """Return the texts of a table of strings, with bytes that are not UTF-8 replaced.

    Raises:
        ValueError: the table holds anything else, so that its texts may be counted wrong.
    """
    strings = decode_message("Strings").FromString(table)
    if strings.SerializeToString() != table:
        raise ValueError("a table of strings with more than strings")
    return [text.decode("utf-8", "replace") for text in strings.text]


def decode_metrics(blobs: Sequence[bytes]) -> tuple[Integers, Values]:
    """Decode ProfileMetricResult messages into (numbers of the names, values), without their lists.

    Raises:
        ValueError: one of them does not match the description.
    """
    data, start, length = _join_spans(blobs)
    view = _find_all(data, "u1")
    end = start + length
    names, width = _decode_short_varints(data, start + 1)
    value = np.minimum(start + 1 + width, end)
    has_value = (value < end) & (view[value] == _VALUE)
    value_length, width = _decode_short_varints(data, value + 1)
    value_length = np.where(has_value, value_length, 0)
    value += np.where(has_value, 1 + width, 0)
    after = np.minimum(value + value_length, end)
    is_sound = (view[start] == _NAME) & (value + value_length <= end)
    if not (is_sound & ((after == end) | (view[after] == _LIST) | (view[after] == _CATEGORY))).all():
        raise ValueError("a metric that is unlike those of NVIDIA's description")
    return names, _decode_values(data, value, value_length)


def decode_elements(blobs: Sequence[bytes]) -> tuple[Values, Values]:
    """Decode ProfileMetricListElement messages into (keys, values).

    Raises:
        ValueError: one of them does not match the description.
    """
    data, start, length = _join_spans(blobs)
    view = _find_all(data, "u1")
    has_key = view[start] == _KEY
    # Lengths of 128 and more would take two bytes and fail the test below.
    key_length = np.where(has_key, view[start + 1], 0).astype(np.int64)
    value = np.where(has_key, np.minimum(start + 2 + key_length, start + length), start)
    value_length = view[value + 1].astype(np.int64)
    if not ((view[value] == _VALUE) & (value + 2 + value_length == start + length)).all():
        raise ValueError("a list of values that is unlike those of NVIDIA's description")
    return _decode_values(data, start + 2, key_length), _decode_values(data, value + 2, value_length)


def _join_spans(blobs: Sequence[bytes]) -> tuple[bytes, Integers, Integers]:
    """Return all bytes, padded for reads past the end, with start and length of each span."""
    length = np.fromiter(map(len, blobs), np.int64, len(blobs))
    return b"".join(blobs) + bytes(_ROOM), np.cumsum(length) - length, length


def _find_all(data: bytes, dtype: str) -> npt.NDArray[Any]:
    """Return the numbers at every byte, which overlap."""
    kind = np.dtype(dtype)
    return np.ndarray(len(data) - kind.itemsize + 1, kind, data, strides=(1,))


def _decode_values(data: bytes, start: Integers, length: Integers) -> Values:
    tag = np.where(length > 0, _find_all(data, "u1")[start], 0).astype(np.uint8)
    number = np.full(len(start), np.nan)
    integer = np.zeros(len(start), np.int64)
    known = tag == 0
    for kind, dtype in _FLOATS:
        at = np.flatnonzero((tag == kind) & (length == 1 + np.dtype(dtype).itemsize))
        known[at] = True
        number[at] = _find_all(data, dtype)[start[at] + 1]
    is_integer = (tag == _INTEGERS[0]) | (tag == _INTEGERS[1])
    at = np.flatnonzero(is_integer & (length <= 1 + _LONGEST_VARINT))
    integers, known[at] = _decode_varints(data, start[at] + 1, length[at] - 1)
    number[at], integer[at] = integers, integers.view(np.int64)
    texts = {}
    for place in np.flatnonzero(tag == _TEXT).tolist():
        texts[place] = _decode_text(data[start[place] + 1 : start[place] + length[place]])
        known[place] = True
    if not known.all():
        raise ValueError("a value that is unlike those of NVIDIA's description")
    return Values(tag, number, integer, texts)


def _decode_varints(
    data: bytes, start: Integers, length: Integers
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.bool_]]:
    """Return numbers of 7 bits a byte, lowest first, and whether each ends after ``length`` bytes: all but the last
    byte have their highest bit set."""
    words = _find_all(data, "<u8")
    result = np.zeros(len(start), np.uint64)
    is_whole = length > 0
    for first in (0, 8):
        inside = np.clip(length - first, 0, 8)
        word = words[start + first] & _KEEP[inside]
        ends_here = (length - first > 0) & (length - first <= 8)
        is_whole &= (word & _CONTINUED) == (_KEEP[inside - ends_here] & _CONTINUED)
        for byte in range(min(8, _LONGEST_VARINT - first)):
            bits = (word >> np.uint64(8 * byte)) & np.uint64(127)
            result |= bits << np.uint64(7 * (first + byte))
    return result, is_whole


def _decode_short_varints(data: bytes, start: Integers) -> tuple[Integers, Integers]:
    """Return numbers of up to three bytes, and how many bytes each takes."""
    word = _find_all(data, "<u4")[start].astype(np.int64)
    width = np.where(word & 0x80 == 0, 1, np.where(word & 0x8000 == 0, 2, 3))
    low = word & 0x7F
    middle = np.where(width > 1, word >> 1 & 0x3F80, 0)
    high = np.where(width > 2, word >> 2 & 0x1FC000, 0)
    return low | middle | high, width


def _decode_text(field: bytes) -> str:
    """Return the text after its length, with bytes that are not UTF-8 replaced."""
    width = next(position for position, byte in enumerate(field, 1) if byte < 128)
    return field[width:].decode("utf-8", "replace")
