"""Numbers and names as people read them."""

from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.ui import format as fmt


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 ns"),
        (12, "12 ns"),
        (12.5, "12.5 ns"),
        (999, "999 ns"),
        (1000, "1.00 µs"),
        (1_234, "1.23 µs"),
        (12_345, "12.3 µs"),
        (123_456, "123 µs"),
        (999_600, "1.00 ms"),
        (1_234_567, "1.23 ms"),
        (1_500_000_000, "1.50 s"),
        (1_234_000_000_000, "1,234 s"),
        (-5_000_000, "−5.00 ms"),
        (-0.0, "0 ns"),
        (-0.001, "0.00 ns"),
        (None, "–"),
        (pd.NA, "–"),
        (float("nan"), "–"),
        (float("inf"), "–"),
    ],
)
def test_duration(ns: Any, text: str) -> None:
    assert fmt.duration(ns) == text


@pytest.mark.parametrize(
    ("number", "noun", "text"),
    [
        (1, "launch", "1 launch"), (0, "launch", "0 launches"), (1775, "launch", "1,775 launches"),
        (1.0, "operation", "1 operation"), (2, "smaller path", "2 smaller paths"), (None, "sample", "– samples"),
    ],
)  # fmt: skip
def test_a_number_with_what_it_counts(number: Any, noun: str, text: str) -> None:
    assert fmt.counted(number, noun) == text


def test_other_numbers() -> None:
    assert fmt.count(12345) == "12,345"
    assert fmt.count(pd.NA) == "–"
    assert fmt.bytes_(1_234_567_890) == "1.23 GB"
    assert fmt.bytes_(12) == "12 B"
    assert fmt.rate(2.5e9) == "2.50 GB/s"
    assert fmt.rate(None) == "–"
    assert [fmt.percent(x) for x in (12.34, 0, 0.01, 100, None)] == ["12.3 %", "0.0 %", "<0.1 %", "100.0 %", "–"]
    assert [fmt.percent(x) for x in (-0.0, -0.04, -0.05001, 21590.5)] == ["0.0 %", "0.0 %", "−0.1 %", "21,590 %"]


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (-0.0, "0"),
        (0.0001234, "0.000123"),
        (0.000000001234, "1.23e-09"),
        (1, "1.00"),
        (9.996, "10.0"),
        (99.96, "100"),
        (-3.14159, "−3.14"),
        (21590.5, "21,590"),
        (pd.NA, "–"),
    ],
)
def test_a_plain_number_has_three_digits(number: Any, text: str) -> None:
    assert fmt.significant(number) == text


@pytest.mark.parametrize(
    ("iso", "text"),
    [
        ("2026-11-21T05:20:59+00:00", "2026-11-21 05:20 UTC"),
        ("2026-11-21T05:20:59+02:00", "2026-11-21 03:20 UTC"),
        ("2026-11-21T05:20:59", "2026-11-21 05:20 UTC"),
        ("yesterday", "–"),
        (None, "–"),
    ],
)
def test_when(iso: str | None, text: str) -> None:
    assert fmt.when(iso) == text


@given(st.floats(min_value=1, max_value=1e15))
def test_a_duration_is_off_by_less_than_its_digits(ns: float) -> None:
    number, unit = fmt.duration(ns).split()
    shown = float(number.replace(",", "")) * dict(fmt.DURATION_UNITS)[unit]
    assert shown == pytest.approx(ns, rel=0.0051)


def test_plain_text_does_nothing_in_markdown() -> None:
    text = fmt.plain("[x](http://e.vil) $a$ <b> :red[y] `c` a::b::c www.e.vil me@e.vil a -> b\nz")
    bare = text.replace("\\", "")
    for live in ("http://e", "www.e", "@e", ":b:", "->", "\n"):
        assert live not in bare
    for escaped in ("\\[", "\\(", "\\$", "\\<", "\\`"):
        assert escaped in text
    assert bare.replace("\u2060", "") == "[x](http://e.vil) $a$ <b> :red[y] `c` a::b::c www.e.vil me@e.vil a -> b z"


def test_marks_that_turn_the_reading_direction_are_dropped() -> None:
    assert fmt.visible("a\u202eb\x00c\u2066") == "a b c "


def test_plotly_text() -> None:
    assert fmt.escape_plotly("a<b>&$x$") == "a&lt;b&gt;&amp;&#36;x&#36;"


def test_shortened() -> None:
    assert fmt.shortened("abc", 3) == "abc"
    assert fmt.shortened("abcdefghijklmnop", 10) == "abcdef…nop"
