"""The timeline of a real report against the report's own analyses."""

import pytest

from profiledb.query import analysis
from profiledb.report.library import Library
from profiledb.timeline import area
from tests.conftest import SAMPLES, ingest_files
from tests.support.timelines import timelines

pytestmark = pytest.mark.slow
NAMES = ("transformer_inference", "idle_host_bound", "streams_overlapped")


@pytest.mark.parametrize("name", NAMES)
def test_lanes_add_up_to_the_reports_own_answers(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp(name)
    ingest_files(folder, [SAMPLES / f"{name}.sqlite"])
    library = Library(folder / "library")
    report = library.list()[0].id
    shelf = timelines(library)
    opened = shelf.wait(report)
    asked = (opened.begin_ns, opened.end_ns + 1)
    of_kind = {kind: [lane.id for lane in opened.lanes if lane.kind == kind] for kind in ("stream", "api", "idle")}
    with shelf.cursor(report) as cursor:
        streams = area.area(cursor, opened, *asked, of_kind["stream"])
        calls = area.area(cursor, opened, *asked, of_kind["api"])
    kernels = analysis.run(library, report, "cuda_gpu_kern_sum")
    copies = analysis.run(library, report, "cuda_gpu_mem_time_sum")
    assert streams["total"]["count"] == kernels["Instances"].sum() + copies["Count"].sum()
    assert streams["total"]["sum_ns"] == kernels["Total Time (ns)"].sum() + copies["Total Time (ns)"].sum()
    api = analysis.run(library, report, "cuda_api_sum")
    assert (calls["total"]["count"], calls["total"]["sum_ns"]) == (api["Num Calls"].sum(), api["Total Time (ns)"].sum())
    reasons = analysis.run(library, report, "idle_reasons").set_index("reason")["idle_ns"]
    told = {one["cause"]: one["ns"] for one in streams["idle"]}
    assert told == reasons.drop("between operations", errors="ignore").to_dict()
