"""What a file of a model must hold before it is computed with; each function raises ValueError where it does not."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_BYTES = 32 << 20
"""Size of a model, unpacked: one of nine tasks takes less than 0.1 MB."""


def holds(is_so: bool) -> None:
    """Raise where something does not hold."""
    if not is_so:
        raise ValueError


def is_small(path: Path) -> None:
    """Look at the sizes that a packed file tells, without unpacking it."""
    with zipfile.ZipFile(path) as packed:
        holds(sum(part.file_size for part in packed.infolist()) <= MOST_BYTES)


def costs(fit: Any, terms: int) -> NDArray[np.float64]:
    """Return the costs of a fit: as many as terms, none less than nothing."""
    found: NDArray[np.float64] = np.asarray(fit, dtype=float)
    holds(found.shape == (terms,) and bool(np.isfinite(found).all()) and not (found < 0).any())
    return found


def rising(known: Any) -> NDArray[np.float64]:
    """Return rows of size, bytes, operations and result, of which logarithms are taken, by size."""
    found: NDArray[np.float64] = np.asarray(known, dtype=float)
    holds(found.ndim == 2 and found.shape[1] == 4 and len(found) > 0)
    holds(bool(np.isfinite(found).all()) and not (found <= 0).any() and not (np.diff(found[:, 0]) <= 0).any())
    return found
