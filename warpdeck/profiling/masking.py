"""Remove environment variables from a report of nsys, which stores those of every process that it sees.

The program runs in its own environment, as it must. Afterward the bytes of the values in the report are replaced by as
many asterisks, so that the file stays readable for every version of nsys. nsys writes an environment as ``NAME=VALUE``
with and without quotation marks.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

HARMLESS = re.compile(
    r"PATH|LD_LIBRARY_PATH|PWD|HOME|LANG|LC_\w+|TERM|SHELL|SHLVL|_|CUDA_\w+|NCCL_\w+|OMP_\w+|MKL_\w+|NVIDIA_VISIBLE_DEVICES"
    r"|NSYS_\w+|RANK|LOCAL_RANK|WORLD_SIZE|PYTHONPATH|VIRTUAL_ENV|TORCH_\w+|TOKENIZERS_PARALLELISM"
)
"""Variables whose values stay, unless their names sound secret."""
BLOCK = 16 << 20
"""Bytes that are searched at a time."""
OVERLAP = 256 << 10
"""Bytes that two blocks share; longer values are cut to this."""
SHORT = 8
"""Values of secret variables of at least this length are removed wherever they stand."""
PIECE, STRIDE = 8, 4
"""Length of the pieces of a secret, and their distance: any 11 bytes of it hold one."""
_TELLTALE = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[^/\s:]{12,}")
"""Secrets whose pieces stand nowhere else: they look random, and are no paths and addresses."""
_ENTRY = re.compile(rb"\n([\x03-\x40])([A-Za-z_][A-Za-z0-9_]{2,63})\x12", re.DOTALL)
_UNKNOWN = re.compile(rb"[A-Za-z_][A-Za-z0-9_]{2,63}=")
_PRINTABLE = re.compile(rb"[^\x00-\x1f\x7f]*")

Judge = Callable[[str, str], bool]
"""Tells from name and value whether a variable is secret."""


def read_environments() -> dict[str, set[str]]:
    """Return the values of each variable in this process and in all processes that it may read, as nsys does."""
    values: dict[str, set[str]] = {}
    for name, value in os.environ.items():
        values.setdefault(name, set()).add(value)
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            text = path.read_bytes().decode(errors="surrogateescape")
        except OSError:
            continue  # it has ended, or belongs to somebody else
        for pair in text.split("\0"):
            name, equals, value = pair.partition("=")
            if name and equals:
                values.setdefault(name, set()).add(value)
    return values


def mask_file(path: Path, variables: Mapping[str, Iterable[str]], is_secret: Judge) -> int:
    """Replace the values of variables in a file by asterisks; return the number of places.

    Args:
        path: report, or raw capture data.
        variables: values of each variable that may stand in it.
        is_secret: judges names and values: such values are removed wherever they stand, and variables with such names
            also where the value is unknown.
    """
    needles = list(_list_needles(variables, is_secret))
    places = 0
    with path.open("r+b") as file:
        for start, block in _read_blocks(file):
            spans = {span for needle, skip in needles for span in _find_matches(block, needle, skip)}
            spans |= set(_find_unknown(block, is_secret))
            places += len(spans)
            for begin, end in spans:
                file.seek(start + begin)
                file.write(b"*" * (end - begin))
    return places


def _list_needles(variables: Mapping[str, Iterable[str]], is_secret: Judge) -> Iterator[tuple[bytes, int]]:
    """Yield byte strings to look for, each with the number of its first bytes that stay."""
    for name, values in variables.items():
        key = name.encode(errors="surrogateescape")
        for value in values:
            secret = is_secret(name, value)
            if not value or (HARMLESS.fullmatch(name) and not secret):
                continue
            content = value.encode(errors="surrogateescape")[: OVERLAP // 2]
            yield key + b"=" + content, len(key) + 1
            yield key + b'="' + content, len(key) + 2
            entry = key + b"\x12" + _encode_varint(len(value.encode(errors="surrogateescape")))
            yield entry + content, len(entry)
            if secret and len(content) >= SHORT:
                yield content, 0
                if _TELLTALE.fullmatch(value):
                    yield from ((content[at : at + PIECE], 0) for at in range(0, len(content) - PIECE + 1, STRIDE))


def _encode_varint(number: int) -> bytes:
    """Return a length as protobuf writes it."""
    head = b""
    while number > 0x7F:
        head += bytes([number & 0x7F | 0x80])
        number >>= 7
    return head + bytes([number])


def _read_blocks(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yield overlapping blocks of a file, each with its position."""
    start = 0
    while True:
        file.seek(start)
        block = file.read(BLOCK + OVERLAP)
        yield start, block
        if len(block) < BLOCK + OVERLAP:
            return
        start += BLOCK


def _find_matches(block: bytes, needle: bytes, skip: int) -> Iterator[tuple[int, int]]:
    position = block.find(needle)
    while position >= 0:
        yield position + skip, position + len(needle)
        position = block.find(needle, position + 1)


def _find_unknown(block: bytes, is_secret: Judge) -> Iterator[tuple[int, int]]:
    """Yield the values behind names that sound secret, such as those that a program set for its children.

    The end of such a value is known where the text ends with a zero byte or lies in a field with its length in front.
    """
    for entry in _ENTRY.finditer(block):
        if entry[1][0] == len(entry[2]) and is_secret(entry[2].decode(), "x" * SHORT):
            length, begin = block[entry.end()] if entry.end() < len(block) else 0, entry.end() + 1
            if length >= 0x80 and begin < len(block):
                length, begin = length & 0x7F | block[begin] << 7, begin + 1
            if length and block[begin : begin + 1] != b"*" and _PRINTABLE.fullmatch(block[begin : begin + length]):
                yield begin, begin + length
    for match in _UNKNOWN.finditer(block):
        text = _PRINTABLE.match(block, match.end())
        assert text is not None
        if text.end() == match.end() or block[match.end()] == ord("*"):
            continue
        for begin in range(match.start(), match.end() - 3):
            name = block[begin : match.end() - 1].decode()
            if not is_secret(name, "x" * SHORT):
                break
            end = _find_field_end(block, begin) or (text.end() if block[text.end() : text.end() + 1] == b"\0" else 0)
            if match.end() < end <= text.end():
                yield match.end(), end
                break


def _find_field_end(block: bytes, begin: int) -> int:
    """Return the end of a protobuf string that begins here, by the length in front of it; 0 if there is none."""
    if begin >= 2 and block[begin - 1] < 0x80 and block[begin - 2] & 7 == 2:
        return begin + block[begin - 1]
    if begin >= 3 and block[begin - 1] < 0x80 <= block[begin - 2] and block[begin - 3] & 7 == 2:
        return begin + (block[begin - 2] & 0x7F | block[begin - 1] << 7)
    return 0
