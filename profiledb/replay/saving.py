"""Predicted savings of changes, stored beside the report so that findings replay it once."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import TYPE_CHECKING

from profiledb.errors import AnalysisError, NotCapturedError
from profiledb.library.library import Library
from profiledb.query import answer_store
from profiledb.query.header import Analysis
from profiledb.query.request import Request
from profiledb.selection.model import Selection

if TYPE_CHECKING:
    import pyarrow as pa

    from profiledb.replay.prediction import Case

VERSION = 14
"""The version of the changes and the prediction model. Stored predictions of another version are recomputed."""
LEAST_COVERED = 0.9
"""Minimum ratio, either way, of the time that is judged and the time that the replay stands for."""
MOST_ALONE = 0.1
"""Maximum share of collectives in the time of operations for one rank to be replayed without the others."""


@dataclass(frozen=True)
class Saving:
    """The saving of changes that are made together: shares of the time in percent, and an interval of about 95 %.

    ``of_ns`` is the time that the replay stands for, summed over the GPUs that it uses. A part that ``repeats`` stands
    for a little more or less than that, too.
    """

    pct: float
    low_pct: float
    high_pct: float
    of_ns: int
    repeats: bool

    def stands_for(self, ns: int) -> bool:
        """Return True if shares of this time, summed over GPUs, are those of the replay."""
        return LEAST_COVERED * ns <= self.of_ns and (self.repeats or LEAST_COVERED * self.of_ns <= ns)


class Savings:
    """Predictions for one report. It is replayed if the answer store lacks one."""

    def __init__(self, library: Library, report_id: str) -> None:
        self._library, self._report_id = library, report_id
        self._case: Case | None = None
        self._is_open = False

    def find(self, changes: Sequence[str]) -> Saving | None:
        """Return the saving of changes, written as NAME or NAME=VALUE, or None if the report does not tell it."""
        import pyarrow as pa

        asked = Request(self._report_id, _make_analysis(), {"changes": "\n".join(changes)}, Selection(), None)
        stored = answer_store.read(self._library, asked)
        if stored is None:
            saving = self._predict(changes)
            stored = pa.Table.from_pylist([asdict(saving)] if saving else [], schema=_make_schema())
            answer_store.write(self._library, asked, stored)
        rows = stored.to_pylist()
        return Saving(**rows[0]) if rows else None

    def _predict(self, changes: Sequence[str]) -> Saving | None:
        import numpy as np

        from profiledb.replay import prediction

        try:
            if not self._is_open:
                self._is_open = True
                self._case = prediction.open_case(self._library, self._report_id)
            if self._case is None or not _holds_all_ranks(self._case):
                return None
            wanted = [prediction.find_change(name, value) for name, value in prediction.parse(changes)]
            predicted = self._case.predict(wanted)
        except (AnalysisError, NotCapturedError):
            return None
        if predicted is None:
            return None
        part, devices = self._case.part, self._case.graph.recording.operations.device
        pct, low, high = (
            float(100 * (1 - ns / predicted.baseline_ns)) if predicted.baseline_ns else 0.0
            for ns in (predicted.predicted_ns, predicted.high_ns, predicted.low_ns)
        )
        gpus = len(np.unique(devices[part.operations]))
        window = self._case.window
        tail_ns = predicted.baseline_ns - (window.end_ns - window.begin_ns)  # the GPU may end after the host
        return Saving(pct, low, high, (window.represents_ns + tail_ns) * gpus, window.repeats)


def _holds_all_ranks(case: "Case") -> bool:
    """Return False if collectives wait for ranks of other reports: their share of the wait may change with the rest."""
    operations, part = case.graph.recording.operations, case.part.operations
    alone = part & operations.in_class("communication")
    for group in case.graph.partners:
        alone[list(group)] = False
    return bool(case.graph.length[alone].sum() <= MOST_ALONE * case.graph.length[part].sum())


@cache
def _make_analysis() -> Analysis:
    return Analysis("predicted_saving", "", "", (), (), (), f"-- version {VERSION}")


@cache
def _make_schema() -> "pa.Schema":
    import pyarrow as pa

    return pa.schema(
        [(name, pa.float64()) for name in ("pct", "low_pct", "high_pct")]
        + [("of_ns", pa.int64()), ("repeats", pa.bool_())]
    )
