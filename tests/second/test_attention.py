"""Attention against the second computation: the time of its parts, and the work that follows from its size."""

from typing import Any

from tests.second import attention
from tests.second.agree import Table, agree
from tests.second.conftest import EVERY, Sample

SIZES = ("batch", "heads", "tokens", "head_size")


def ours(sample: Sample, second: Table) -> dict[tuple[Any, ...], Any]:
    """Our rows under the keys of the second ones, whose length comes from the names of ranges."""
    named = {(variant, part) for variant, tokens, part in second if tokens is None}
    return {
        (row["variant"], None if (row["variant"], row["part"]) in named else row["tokens"], row["part"]): row
        for row in sample.ask("attention_parts")
    }


@EVERY
def test_time_of_parts(sample: Sample) -> None:
    if not sample.capture.kernels and not sample.capture.ranges:
        return
    second = attention.rows(sample.capture)
    agree(ours(sample, second), second)


@EVERY
def test_sizes(sample: Sample) -> None:
    """The analysis gives the right size of an attention, or says that it is unknown."""
    second = attention.work(sample.capture, attention.size(sample.facts))
    rows = ours(sample, second)
    told = {key: {name: second[key][name] for name in SIZES if row[name] is not None} for key, row in rows.items()}
    agree(rows, told)


@EVERY
def test_work_of_parts(sample: Sample) -> None:
    """Work, traffic and shares of the peak, for attentions with known sizes."""
    second = attention.work(sample.capture, attention.size(sample.facts))
    rows = ours(sample, second)
    if all(row[name] == second[key][name] for key, row in rows.items() for name in SIZES):
        agree(rows, second)
