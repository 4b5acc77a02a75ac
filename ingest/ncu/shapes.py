"""Data that launches with the same metrics and sections share, and the rows of one launch derived from it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ingest.ncu import units
from ingest.ncu.columns import Metrics
from ingest.ncu.slim_copy import Measured
from ingest.ncu.tables import Detail


@dataclass(frozen=True)
class Shape:
    """For each metric by position: its number in the report and the factor to its base unit; ``rows`` of the details
    page.

    The values in ``rows`` are those of the launch that they were read from.
    """

    ids: npt.NDArray[Any]
    factors: npt.NDArray[np.float64]
    rows: Sequence[Detail]
    places: Mapping[str, int]
    section_orders: Mapping[str, int]
    cc: str | None

    def take(self, metrics: Metrics, launch_id: int, measured: Measured) -> list[Detail]:
        """Add the metrics of a launch and return its rows of the details page."""
        numbers = measured.values.number * self.factors
        texts = {}
        for place, printed in measured.values.texts.items():
            value, text = units.parse_cell(printed, float(self.factors[place]))
            if value is not None:
                numbers[place] = value
            elif text is not None:
                texts[place] = text
        metrics.extend(launch_id, self.ids, numbers, texts)
        self._add_instances(metrics, launch_id, measured)
        return list(self._list_details(launch_id, numbers, texts))

    def _add_instances(self, metrics: Metrics, launch_id: int, measured: Measured) -> None:
        instances = measured.instances
        columns = {
            "metric": self.ids[instances.metric],
            "position": instances.position,
            "key": instances.keys.integer,
            "has_key": instances.keys.is_integer,
            "value": np.where(np.isfinite(instances.values.number), instances.values.number, np.nan),
        }
        metrics.instances.extend(launch_id, columns, instances.keys.texts)

    def _list_details(
        self, launch_id: int, numbers: npt.NDArray[np.float64], texts: Mapping[int, str]
    ) -> Iterator[Detail]:
        known = numbers.tolist()
        for row in self.rows:
            place = self.places.get(row.metric or "")
            value = None if place is None else units.parse_finite(known[place])
            text = None if place is None else texts.get(place)
            yield Detail(launch_id, row.position, row.section, row.label, row.metric, row.unit, value, text)
