"""Validate a model's file before it is used; each function raises ValueError for invalid content."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_BYTES = 32 << 20
"""Largest unpacked model: one of nine tasks takes less than 0.1 MB."""


def require(is_so: bool) -> None:
    """Raise ValueError if a condition is false."""
    if not is_so:
        raise ValueError


def check_size(path: Path) -> None:
    """Check the sizes that a packed file states, without unpacking it."""
    with zipfile.ZipFile(path) as packed:
        require(sum(part.file_size for part in packed.infolist()) <= MOST_BYTES)


def check_costs(fit: Any, terms: int) -> NDArray[np.float64]:
    """Return the costs of a fit: one per term, none negative."""
    values: NDArray[np.float64] = np.asarray(fit, dtype=float)
    require(values.shape == (terms,) and bool(np.isfinite(values).all()) and not (values < 0).any())
    return values


def check_rows(known: Any) -> NDArray[np.float64]:
    """Return rows of size, bytes, operations and result by size; all must be positive, because their logarithms are
    used."""
    values: NDArray[np.float64] = np.asarray(known, dtype=float)
    require(values.ndim == 2 and values.shape[1] == 4 and len(values) > 0)
    require(bool(np.isfinite(values).all()) and not (values <= 0).any() and not (np.diff(values[:, 0]) <= 0).any())
    return values
