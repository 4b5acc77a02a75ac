"""The roofline of the ncu samples against the second computation, from ncu's printed raw page."""

from typing import Any

import pandas as pd
import pytest

from profiledb.library.library import Library
from profiledb.query import analysis
from tests.conftest import SAMPLES
from tests.second import roofline
from tests.second.agree import agree, keyed
from tests.second.conftest import known

NAMES = sorted(path.name.removesuffix("_ncu") for path in (SAMPLES / "oracle").glob("*_ncu"))
PRINTED = 5e-3
"""The raw page has two decimals, of percentages and of counts a cycle."""


COARSE_FLOPS = 1e10
"""Work below, in FLOP/s, is less than a few instructions a cycle, of which two decimals tell too little."""


def rows(library: Library, name: str) -> dict[tuple[Any, ...], Any]:
    frame: pd.DataFrame = analysis.run(library, library.find(f"{name}.ncu-rep").id, "ncu_roofline")
    found = [{str(column): known(value) for column, value in row.items()} for row in frame.to_dict("records")]
    return dict(keyed(found, "launch_id", "precision", "level"))


def second_rows(name: str) -> dict[tuple[Any, ...], dict[str, Any]]:
    return roofline.rows(SAMPLES / "oracle" / f"{name}_ncu" / "raw.csv.gz")


@pytest.mark.parametrize("name", NAMES)
def test_roofline(every_report: Library, name: str) -> None:
    second = second_rows(name)
    for row in second.values():
        if row["is_main"] is None:  # of a launch without arithmetic any precision is its main one
            del row["is_main"]
        if 0 < row["flops_per_s"] < COARSE_FLOPS:
            del row["flops_per_s"], row["intensity"]
    agree(rows(every_report, name), second, tolerance=PRINTED)
