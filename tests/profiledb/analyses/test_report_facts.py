"""Facts about the machine of a report: driver versions in their usual form, and GPUs with their number."""

from collections.abc import Sequence

import pytest

from profiledb.library.library import Library
from profiledb.studies.summary import document
from tests.conftest import CORPUS
from tests.support.page_reports import Publish, insert, run


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("45010204", "450.102.04"), ("4705702", "470.57.02"), ("535.104.05", "535.104.05"), ("550.54.14", "550.54.14"),
        ("41887", "418.87"), ("4188", "4188"), (None, None), ("r450_1", "r450_1"),
    ],
)  # fmt: skip
def test_versions_of_drivers(library: Library, publish: Publish, written: str | None, read: str | None) -> None:
    report = publish(lambda db: insert(db, "report", [{"kind": "nsys", "driver_version": written}]))
    (facts,) = run(library, report, "report_facts")
    assert facts["driver_version"] == read


@pytest.mark.parametrize(("used", "said"), [((), ""), ((1, 1, 2), " (2 in use)"), (range(6), "")])
def test_each_gpu_has_its_own_count(library: Library, publish: Publish, used: Sequence[int], said: str) -> None:
    gpus = ["T400", "A100", "A100", "A100", None, ""]

    def fill(db: object) -> None:
        insert(db, "report", [{"kind": "nsys"}])  # type: ignore[arg-type]
        insert(db, "gpu", [{"gpu_id": at, "name": gpu} for at, gpu in enumerate(gpus)])  # type: ignore[arg-type]
        busy = [{"device_id": one, "start_ns": 10 * at, "end_ns": 10 * at + 5} for at, one in enumerate(used)]
        insert(db, "busy", busy)  # type: ignore[arg-type]

    (facts,) = run(library, publish(fill), "report_facts")
    assert (facts["gpus"], facts["gpu_names"], facts["gpu_list"]) == (
        6, "A100, T400", f"3 × A100, 2 GPUs of unknown model, 1 × T400{said}",
    )  # fmt: skip


@pytest.mark.slow("the summary of a report of strangers")
@pytest.mark.integration
@pytest.mark.skipif(not CORPUS.exists(), reason="no ../shared/corpus here")
def test_a_stranger(every_report: Library) -> None:
    report = every_report.find("openmp_iterations.qdrep")
    (facts,) = run(every_report, report.id, "report_facts")
    assert str(facts["driver_version"]).count(".") >= 1
    assert f"- GPUs: `{facts['gpu_list']}`" in document.write_summary(every_report, report, {})
