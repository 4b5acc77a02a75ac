"""Store the metric values of a report in columns, so that millions fit: 16 bytes a value, and the few texts
separately."""

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Instance = tuple[int, int, int, int | None, str | None, float | None]


@dataclass
class Instances:
    """Instance values in the columns of ``ncu_metric_instance``; ``has_key`` is 0 if the key is no number."""

    launch: "array[int]" = field(default_factory=lambda: array("i"))
    metric: "array[int]" = field(default_factory=lambda: array("i"))
    position: "array[int]" = field(default_factory=lambda: array("i"))
    key: "array[int]" = field(default_factory=lambda: array("q"))
    has_key: "array[int]" = field(default_factory=lambda: array("b"))
    value: "array[float]" = field(default_factory=lambda: array("d"))
    texts: dict[int, str] = field(default_factory=dict)

    def add(self, rows: Iterable[Instance]) -> None:
        """Add rows: launch, metric, position, key as a number, key as a text, value."""
        for launch_id, metric_id, position, key, text, value in rows:
            if text is not None:
                self.texts[len(self.value)] = text
            self.launch.append(launch_id)
            self.metric.append(metric_id)
            self.position.append(position)
            self.key.append(key or 0)
            self.has_key.append(key is not None)
            self.value.append(np.nan if value is None else value)

    def extend(self, launch_id: int, columns: Mapping[str, npt.NDArray[Any]], texts: Mapping[int, str]) -> None:
        """Add columns of one launch by name, and ``texts`` by position in them."""
        begin = len(self.value)
        self.texts.update((begin + place, text) for place, text in texts.items())
        _append_values(self.launch, np.full(len(columns["value"]), launch_id))
        for name, values in columns.items():
            _append_values(getattr(self, name), values)

    def table(self) -> pa.Table:
        """Return the columns launch_id, metric_id, position, key, key_text, value."""
        return pa.table(
            {
                "launch_id": _view_column(self.launch),
                "metric_id": _view_column(self.metric),
                "position": _view_column(self.position),
                "key": pa.array(_view_column(self.key), mask=_view_column(self.has_key) == 0),
                "key_text": _make_sparse_column(self.texts, len(self.value)),
                "value": pa.array(_view_column(self.value), from_pandas=True),
            }
        )


@dataclass
class Metrics:
    """Metric values, a number or a text each, in the columns of ``ncu_metric``."""

    units: dict[str, str] = field(default_factory=dict)
    ids: dict[str, int] = field(default_factory=dict)
    launch: "array[int]" = field(default_factory=lambda: array("i"))
    metric: "array[int]" = field(default_factory=lambda: array("i"))
    value: "array[float]" = field(default_factory=lambda: array("d"))
    texts: dict[int, str] = field(default_factory=dict)
    instances: Instances = field(default_factory=Instances)

    def name(self, name: str, unit: str) -> int:
        """Return the number of a metric; a new metric gets the next one."""
        if not self.units.get(name):
            self.units[name] = unit
        return self.ids.setdefault(name, len(self.ids))

    def add(self, launch_id: int, metric_id: int, value: float | None, text: str | None = None) -> None:
        """Add one value; a value without a number and a text is ignored."""
        if value is None and text is None:
            return
        if text is not None:
            self.texts[len(self.value)] = text
        self.launch.append(launch_id)
        self.metric.append(metric_id)
        self.value.append(np.nan if value is None else value)

    def extend(
        self, launch_id: int, ids: npt.NDArray[Any], numbers: npt.NDArray[np.float64], texts: Mapping[int, str]
    ) -> None:
        """Add all values of a launch, and ``texts`` by position in ``ids``. Infinite numbers are excluded."""
        finite = np.isfinite(numbers)
        finite[list(texts)] = True
        place = len(self.value) + np.cumsum(finite) - 1
        self.texts.update((int(place[at]), text) for at, text in texts.items())
        _append_values(self.launch, np.full(int(finite.sum()), launch_id))
        _append_values(self.metric, ids[finite])
        _append_values(self.value, numbers[finite])

    def table(self) -> pa.Table:
        """Return the columns launch_id, metric_id, value, text."""
        return pa.table(
            {
                "launch_id": _view_column(self.launch),
                "metric_id": _view_column(self.metric),
                "value": pa.array(_view_column(self.value), from_pandas=True),
                "text": _make_sparse_column(self.texts, len(self.value)),
            }
        )


def _append_values(column: "array[Any]", values: npt.NDArray[Any]) -> None:
    column.frombytes(values.astype(column.typecode).tobytes())


def _view_column(values: "array[Any]") -> npt.NDArray[Any]:
    """Return a view of the values; the array cannot grow while the view exists."""
    return np.frombuffer(values, values.typecode) if values else np.zeros(0, values.typecode)


def _make_sparse_column(texts: Mapping[int, str], length: int) -> pa.Array:
    """Return a column of texts by position, NULL elsewhere."""
    index = np.full(length, -1, np.int32)
    index[np.fromiter(texts, np.int64, len(texts))] = np.arange(len(texts))
    return pa.array(list(texts.values()), pa.string()).take(pa.array(index, mask=index < 0))
