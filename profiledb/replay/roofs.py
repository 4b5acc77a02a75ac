"""How close kernels come to their roof: by Nsight Compute's measurements, or by a model of the shapes of operators."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from profiledb.errors import NotCapturedError, NotLinkedError
from profiledb.library.library import Library
from profiledb.query import answer_store, views
from profiledb.replay.recording import Floats, Integers

_VIEWS = ("selection", "traced", "operator_group")
_SHAPES = """
SELECT kernel_id, kernel, dimensions(grid_x, grid_y, grid_z) AS grid, dimensions(block_x, block_y, block_z) AS block
FROM kernel JOIN kernel_key USING (name_id) WHERE end_ns >= $begin AND start_ns <= $end
"""
_OPERATORS = """
SELECT kernel_id, operator, coalesce(operator_shape_text(d.value), '') AS shape,
    coalesce(operator_type_text(t.value), '') AS types
FROM kernel_operator(NULL) JOIN kernel USING (kernel_id)
LEFT JOIN string AS d ON d.string_id = dims_id LEFT JOIN string AS t ON t.string_id = types_id
WHERE end_ns >= $begin AND start_ns <= $end
"""


@dataclass(frozen=True)
class Roofs:
    """Kernels by id, ascending, with the fraction of their time that they take at their roof.

    ``busiest`` goes by the busiest unit of the GPU as the kernel runs, ``least`` by its arithmetic and traffic alone.
    For kernels that only the model of shapes knows both are the same.
    """

    ids: Integers
    busiest: Floats
    least: Floats

    def find(self, kernel_ids: Integers) -> tuple[Floats, Floats]:
        """Return both fractions for each of these kernels; NaN where nothing tells."""
        at = np.minimum(np.searchsorted(self.ids, kernel_ids), max(0, len(self.ids) - 1))
        if not len(self.ids):
            return (np.full(len(kernel_ids), np.nan),) * 2
        known = self.ids[at] == kernel_ids
        return np.where(known, self.busiest[at], np.nan), np.where(known, self.least[at], np.nan)


def read_roofs(library: Library, report_id: str, begin_ns: int, end_ns: int) -> Roofs:
    """Read the roofs of the kernels in a part of a report: measured by Nsight Compute, else modeled from shapes."""
    shares_by_id = _read_operators(library, report_id, begin_ns, end_ns)
    shares_by_id |= _read_measured(library, report_id, begin_ns, end_ns)
    ids = np.array(sorted(shares_by_id), np.int64)
    shares = np.array([shares_by_id[one] for one in ids.tolist()], np.float64).reshape(-1, 2)
    return Roofs(ids, shares[:, 0], shares[:, 1])


def _read_measured(library: Library, report_id: str, begin_ns: int, end_ns: int) -> dict[int, tuple[float, float]]:
    """Return the kernels that the linked Compute report measured in the same grid and block."""
    try:
        rows = answer_store.run(library, report_id, "time_weighted_roofline")
    except (NotCapturedError, NotLinkedError):
        return {}
    rows = rows[(rows["match"] == "exact") & rows["verdict_pct"].notna()]
    shares = {
        (int(kernel), grid, block): _bound_shares(busiest, least)
        for kernel, grid, block, busiest, least in zip(
            *(rows[name] for name in ("kernel", "grid", "block", "verdict_pct", "pct_of_roof")), strict=True
        )
    }
    return _match_kernels(library, report_id, _SHAPES, shares, begin_ns, end_ns)


def _read_operators(library: Library, report_id: str, begin_ns: int, end_ns: int) -> dict[int, tuple[float, float]]:
    """Return the kernels of operators whose FLOPs or bytes follow from their shapes."""
    try:
        rows = answer_store.run(library, report_id, "operator_roofline")
    except NotCapturedError:
        return {}
    rows = rows[rows["pct_of_roof"].notna()].drop_duplicates(["operator", "shape", "types"], keep=False)
    shares = {
        (operator, shape or "", types or ""): _bound_shares(pct, pct)
        for operator, shape, types, pct in zip(
            *(rows[name] for name in ("operator", "shape", "types", "pct_of_roof")), strict=True
        )
    }
    return _match_kernels(library, report_id, _OPERATORS, shares, begin_ns, end_ns)


def _match_kernels(
    library: Library, report_id: str, sql: str, shares: dict[Any, tuple[float, float]], begin_ns: int, end_ns: int
) -> dict[int, tuple[float, float]]:
    if not shares:
        return {}
    with library.cursor(report_id, views=views.list_needed(_VIEWS)) as db:
        rows = db.execute(sql, {"begin": begin_ns, "end": end_ns}).fetchall()
    return {kernel: shares[tuple(key)] for kernel, *key in rows if tuple(key) in shares}


def _bound_shares(busiest_pct: float, least_pct: float) -> tuple[float, float]:
    """Return both as fractions; the roofline may lack one, and rounding or caches put others above the roof."""
    busiest = min(1.0, busiest_pct / 100)
    return busiest, min(busiest, least_pct / 100) if least_pct > 0 else busiest
