"""Shortened names stay distinct, fit their room, and keep the parts that differ."""

from string import ascii_letters

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from app.ui import name_card, short_names

NAMES = st.lists(st.text(ascii_letters[:3] + "_.<", min_size=1, max_size=60), min_size=1, max_size=12, unique=True)


@given(NAMES, st.integers(12, 40))
def test_different_names_never_look_alike(names: list[str], most: int) -> None:
    short = short_names.tell_apart(names, most)
    assert len(set(short.values())) == len(names)
    assert all(len(text) <= most for text in short.values())
    assert all(text == name for name, text in short.items() if len(name) <= most and "#" not in text)


def test_what_differs_stays() -> None:
    kernels = [f"vectorized_elementwise_kernel<{one}Functor, TrivialOffsetCalculator>" for one in ("Mul", "Add")]
    short = short_names.tell_apart(kernels, 30)
    assert ["Mul" in short[kernels[0]], "Add" in short[kernels[1]]] == [True, True]
    traces = [f"torch_ddp_2_rank{rank}.pt.trace.json.gz" for rank in range(3)]
    assert [f"rank{rank}" in short_names.tell_apart(traces, 24)[name] for rank, name in enumerate(traces)] == [True] * 3
    assert short_names.tell_apart(["short", "other"], 24) == {"short": "short", "other": "other"}


def test_the_common_ends_are_left_out() -> None:
    names = ["void f<float, 4>(int)", "void f<c10::Half, 8>(int)"]
    assert list(short_names.find_differences(names, 24).values()) == ["float, 4", "c10::Half, 8"]


def test_kernels_of_one_short_name_are_told_apart_by_their_full_ones() -> None:
    frame = pd.DataFrame(
        {
            "name": ["copy", "copy", "gemm", "copy"],
            "demangled": ["copy<float>()", "copy<double>()", "gemm()", "copy<float>()"],
        }
    )
    told = list(name_card.tell_kernels_apart(frame)["name"])
    assert told == ["copy · float", "copy · double", "gemm", "copy · float"]
    alone = frame.iloc[:1]
    assert name_card.tell_kernels_apart(alone) is alone
