"""Units and numbers against values computed by hand."""

import pytest

from ingest.ncu import units


@pytest.mark.parametrize(
    ("printed", "factor", "name"),
    [
        ("", 1, ""),
        ("%", 1, "%"),
        ("nsecond", 1, "ns"),
        ("ns", 1, "ns"),
        ("usecond", 1e3, "ns"),
        ("us", 1e3, "ns"),
        ("msecond", 1e6, "ns"),
        ("ms", 1e6, "ns"),
        ("millisec", 1e6, "ns"),
        ("second", 1e9, "ns"),
        ("byte", 1, "byte"),
        ("Kbyte", 1e3, "byte"),
        ("Mbyte", 1e6, "byte"),
        ("Gbyte", 1e9, "byte"),
        ("byte/second", 1, "byte/s"),
        ("byte/s", 1, "byte/s"),
        ("Gbyte/second", 1e9, "byte/s"),
        ("Tbyte/s", 1e12, "byte/s"),
        ("byte/nsecond", 1e9, "byte/s"),
        ("Gb/sec", 1e9, "byte/s"),
        ("Kbyte/block", 1e3, "byte/block"),
        ("cycle/second", 1, "hz"),
        ("cycle/usecond", 1e6, "hz"),
        ("cycle/nsecond", 1e9, "hz"),
        ("hz", 1, "hz"),
        ("Mhz", 1e6, "hz"),
        ("Ghz", 1e9, "hz"),
        ("sector/nsecond", 1e9, "sector/s"),
        ("inst/cycle", 1, "inst/cycle"),
        ("register/thread", 1, "register/thread"),
        ("warp", 1, "warp"),
        ("SM", 1, "SM"),
        ("nan", 1, ""),
    ],
)
def test_a_unit_is_brought_to_its_base(printed: str, factor: float, name: str) -> None:
    assert units.to_base_unit(printed) == (factor, name)


@pytest.mark.parametrize(
    ("printed", "value", "text"),
    [
        ("1,234.5", 1234.5, None),
        ("12,345,678", 12345678, None),
        ("-0.25", -0.25, None),
        ("1e3", 1000, None),
        ("n/a", None, None),
        ("nan", None, None),
        ("-nan", None, None),
        ("inf", None, None),
        ("no data", None, None),
        ("  ", None, None),
        ("CachePreferNone", None, "CachePreferNone"),
        ("1,2", None, "1,2"),
    ],
)
def test_a_cell_is_a_number_a_text_or_nothing(printed: str, value: float | None, text: str | None) -> None:
    assert units.parse_cell(printed) == (value, text)


def test_a_number_is_scaled_with_its_unit() -> None:
    assert units.parse_cell("41.696", units.to_base_unit("usecond")[0]) == (41696.0, None)
