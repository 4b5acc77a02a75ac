"""Random ways to damage the bytes of a file."""

import random
from collections.abc import Callable, Sequence

ODD = (b"null", b"1e999", b"-1", b'"', b"\\", b"[", b"}", b"18446744073709551616", b"\xff\xfe", b"NaN", b"0.0000001")

Chance = random.Random


def cut(data: bytes, chance: Chance) -> bytes:
    return data[: chance.randrange(1, len(data))]


def cut_tail(data: bytes, chance: Chance) -> bytes:
    return data[: -chance.randrange(1, min(200, len(data)))]


def flip(data: bytes, chance: Chance) -> bytes:
    spoiled = bytearray(data)
    for _ in range(chance.choice((1, 1, 3, 20))):
        spoiled[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    return bytes(spoiled)


def _block(data: bytes, chance: Chance) -> tuple[int, int]:
    size = min(len(data), chance.choice((1, 8, 64, 512, 4096)))
    begin = chance.randrange(len(data) - size + 1)
    return begin, begin + size


def overwrite(data: bytes, chance: Chance) -> bytes:
    begin, end = _block(data, chance)
    return data[:begin] + chance.randbytes(end - begin) + data[end:]


def zero(data: bytes, chance: Chance) -> bytes:
    begin, end = _block(data, chance)
    return data[:begin] + bytes(end - begin) + data[end:]


def drop(data: bytes, chance: Chance) -> bytes:
    begin, end = _block(data, chance)
    return data[:begin] + data[end:]


def double(data: bytes, chance: Chance) -> bytes:
    begin, end = _block(data, chance)
    return data[:end] + data[begin:]


def splice(data: bytes, chance: Chance) -> bytes:
    """A block in the place of another one."""
    begin, end = _block(data, chance)
    at = chance.randrange(len(data) - (end - begin) + 1)
    return data[:at] + data[begin:end] + data[at + end - begin :]


def cut_cell(data: bytes, chance: Chance) -> bytes:
    """Cut within quotation marks, where the file has any."""
    marks = [at for at, byte in enumerate(data) if byte == 0x22]
    if len(marks) < 2:
        return cut(data, chance)
    inside = chance.randrange(len(marks) // 2) * 2
    return data[: chance.randrange(marks[inside], marks[inside + 1]) + 1]


def put_odd(data: bytes, chance: Chance) -> bytes:
    """Values that no profiler writes, in the place of others."""
    for _ in range(chance.choice((1, 5))):
        at = data.find(chance.choice((b":", b",")), chance.randrange(len(data))) + 1
        data = data[:at] + chance.choice(ODD) + data[at + chance.randrange(8) :]
    return data


SPOIL: Sequence[Callable[[bytes, Chance], bytes]] = (
    cut, cut_tail, flip, flip, overwrite, zero, drop, double, splice, cut_cell, put_odd,
)  # fmt: skip
