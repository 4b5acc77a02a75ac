"""The timeline of a real report against the report's own analyses."""

from pathlib import Path
from typing import Any

import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

from profiledb.access.cli import main
from profiledb.library.library import Library
from profiledb.query import analysis
from profiledb.timeline import area
from tests.conftest import SAMPLES, ingest_files
from tests.support.every_report import slow_but
from tests.support.timelines import timelines

pytestmark = pytest.mark.integration
NAMES = ("transformer_inference", "idle_host_bound", "streams_overlapped")


def total(answer: dict[str, Any]) -> tuple[int, int]:
    """Count and time of all lanes of an area."""
    return sum(one["count"] for one in answer["lanes"]), sum(one["sum_ns"] for one in answer["lanes"])


@pytest.mark.parametrize("name", slow_but(NAMES[:1], NAMES, "the timelines of more reports"))
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
        streams = area.measure_area(cursor, opened, *asked, of_kind["stream"])
        calls = area.measure_area(cursor, opened, *asked, of_kind["api"])
    kernels = analysis.run(library, report, "cuda_gpu_kern_sum")
    copies = analysis.run(library, report, "cuda_gpu_mem_time_sum")
    assert total(streams) == (
        kernels["Instances"].sum() + copies["Count"].sum(),
        kernels["Total Time (ns)"].sum() + copies["Total Time (ns)"].sum(),
    )
    api = analysis.run(library, report, "cuda_api_sum")
    assert total(calls) == (api["Num Calls"].sum(), api["Total Time (ns)"].sum())
    reasons = analysis.run(library, report, "idle_reasons").set_index("reason")["idle_ns"]
    told = {one["cause"]: one["ns"] for one in streams["idle"]}
    reasons = reasons.rename({"host code": "non-CUDA code"})
    assert told == reasons.drop("between operations", errors="ignore").to_dict()


def test_the_command_writes_a_whole_trace_or_none(tmp_path: Path) -> None:
    ingest_files(tmp_path, [SAMPLES / "transformer_inference.sqlite"])
    library = Library(tmp_path / "library")
    report = library.list()[0].id
    target = tmp_path / "traces" / "out.pftrace"
    target.parent.mkdir()
    command = ["export_trace", report, "--library", str(library.folder), "-o", str(target)]
    assert main.main([*command, "--param", "range=nowhere"]) != 0
    assert not list(target.parent.iterdir())
    assert main.main(command) == 0
    whole = Trace()
    whole.ParseFromString(target.read_bytes())
    streams = {
        packet.track_descriptor.uuid for packet in whole.packet if packet.track_descriptor.name.startswith("Stream ")
    }
    begun = [packet.track_event for packet in whole.packet if packet.track_event.type == TrackEvent.TYPE_SLICE_BEGIN]
    kernels = analysis.run(library, report, "cuda_gpu_kern_sum")["Instances"].sum()
    copies = analysis.run(library, report, "cuda_gpu_mem_time_sum")["Count"].sum()
    assert sum(event.track_uuid in streams for event in begun) == kernels + copies
    launched = {flow for event in begun for flow in event.flow_ids}
    assert {flow for event in begun for flow in event.terminating_flow_ids} == launched


def test_openmp_events_stand_below_their_threads(tmp_path: Path) -> None:
    """One lane per thread; no event of a region's own thread lasts longer than the region."""
    ingest_files(tmp_path, [SAMPLES / "openmp_regions.sqlite"])
    library = Library(tmp_path / "library")
    report = library.list()[0]
    shelf = timelines(library)
    opened = shelf.wait(report.id)
    found = [lane for lane in opened.lanes if lane.kind == "openmp"]
    assert sum(lane.events for lane in found) == report.rows["openmp_event"]
    assert max(lane.rows for lane in found) <= 8, "what was never closed does not pile up"
    sums = analysis.run(library, report.id, "openmp_sum").set_index("Name")
    with shelf.cursor(report.id) as cursor:
        told = area.measure_area(cursor, opened, opened.begin_ns, opened.end_ns + 1, [lane.id for lane in found])
        lanes = cursor.execute("""
            SELECT up.kind, one.busy_ns FROM lane AS one JOIN lane AS up ON up.id = one.parent
            WHERE one.kind = 'openmp'
        """).fetchall()
    assert total(told)[0] == sums["Count"].sum()
    regions = analysis.run(library, report.id, "openmp_regions")
    assert [kind for kind, _ in lanes] == ["thread"] * 4
    assert 0.7 < sum(busy for _, busy in lanes) / (4 * regions["wall_ns"].sum()) < 1.2
