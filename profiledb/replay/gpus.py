"""GPUs that programs may move to, from their data sheets (gpu_sheet.sql)."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import duckdb

from profiledb.query import views

_GPUS = """
SELECT gpu, any_value(tb_per_s) * 1e12, map_from_entries(list((precision, tflops * 1e12)) FILTER (tflops IS NOT NULL))
FROM gpu_sheet JOIN sheet_peak USING (place, gpu) WHERE gpu IS NOT NULL GROUP BY gpu, place ORDER BY place
"""


@dataclass(frozen=True)
class Gpu:
    """The bandwidth of a GPU's memory in bytes per s, and its FLOP/s by precision."""

    bandwidth: float
    peaks: Mapping[str, float]


@cache
def read_gpus() -> Mapping[str, Gpu]:
    """Return the GPUs by name, in the order of the table."""
    with duckdb.connect() as db:
        db.execute(views.build_sql(["gpu_sheet"]))
        return {name: Gpu(bandwidth, peaks) for name, bandwidth, peaks in db.execute(_GPUS).fetchall()}
