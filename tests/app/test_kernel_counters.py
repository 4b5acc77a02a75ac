"""Performance counters of a capture of rocprofv3 on the page of a kernel."""

from pathlib import Path

import pytest

from tests.app.conftest import Dashboard
from tests.conftest import ingest_files
from tests.support.rocpd import write_rocpd


def test_the_page_of_a_kernel_shows_its_counters(
    dashboard: Dashboard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest_files(tmp_path, [write_rocpd(tmp_path / "run_results.db")])
    monkeypatch.setenv("WARPDECK_DATA", str(tmp_path))
    at = dashboard("kernel")
    assert not at.exception
    assert not [one for one in at.code if "ncu" in one.value], "NVIDIA's tool does not measure an AMD GPU"
    assert "Performance counters" in [one.value for one in at.subheader]
    rows = next(one.value for one in at.dataframe if "counter" in one.value.columns)
    assert dict(zip(rows["counter"], rows["avg_value"], strict=True)) == {"OccupancyPercent": 12.25, "TCC_HIT": 192.5}
    assert rows["unit"].fillna("").tolist() == ["percent", ""]
