"""Both ways to read a Nsight Compute report, ncu itself and the ncu-report wheel, give the same tables.

ncu prints numbers with at most two decimals and estimated speed-ups with four digits, so they are compared within half
of the last digit. The test skips data that only one of them has: lists that the wheel gives as metrics named
breakdown:, group: and regex:, and rows of the details page without a value. Names of units differ by version (a sector
per request is ``sector`` for one and ``sector/request`` for the other); the values in them do not.
"""

from pathlib import Path

import pytest

from ingest import tools
from ingest.ncu import cli, container, wheel
from ingest.ncu.tables import Capture
from profiledb.errors import ConversionError
from tests.support.every_report import slow_but
from tests.support.ncu_agree import close, details, instances, same, values
from tests.support.ncu_fixtures import reports

pytestmark = [
    pytest.mark.skipif(not reports(), reason="no report at hand: they lie in ../shared/corpus and sample_reports"),
    pytest.mark.skipif(not wheel.is_available(), reason="the ncu-report wheel does not exist for this platform"),
]
Roads = tuple[Capture, Capture]


CHOSEN = [path for path in reports() if path.name in ("transformer_training.ncu-rep", "naive_gemm_1660s.ncu-rep")]
"""The report with most launches, and a stranger's with sections that the samples lack."""


@pytest.fixture(
    scope="module", params=slow_but(CHOSEN, reports(), "what ncu prints of every report"), ids=lambda path: path.stem
)
def roads(request: pytest.FixtureRequest, ncu: tools.Tool, tmp_path_factory: pytest.TempPathFactory) -> Roads:
    """A report by ncu and by the wheel."""
    path: Path = request.param
    frame = container.read_frame(path)
    captured = tuple(map(int, (frame.tool_version or "0").split(".")))
    try:
        by_ncu = cli.read_report(ncu, path, tmp_path_factory.mktemp("ncu"))
    except ConversionError:
        if captured <= ncu.version:
            raise
        pytest.skip(f"{ncu.label} is older than the report and refuses it")
    return by_ncu, wheel.read_quick(path, frame, tmp_path_factory.mktemp("wheel"))


def test_launches_agree(roads: Roads) -> None:
    of = [[(a.launch_id, a.pid, a.process_name, a.kernel, a.cc, a.nvtx) for a in capture.launches] for capture in roads]
    assert of[0] == of[1]


def test_ranges_agree(roads: Roads) -> None:
    of = [sorted((n.launch_id, n.domain, n.style, n.level, n.name) for n in capture.nvtx) for capture in roads]
    assert of[0] == of[1]


def test_metrics_agree(roads: Roads) -> None:
    by_ncu, by_wheel = map(values, roads)
    assert by_ncu.keys() == by_wheel.keys()
    differ = {
        key: (by_ncu[key], by_wheel[key])
        for key in by_ncu
        if not (close(by_ncu[key][0], by_wheel[key][0]) and by_ncu[key][1] == by_wheel[key][1])
    }
    assert not differ


def test_headline_units_agree(roads: Roads) -> None:
    for name in ("gpu__time_duration.sum", "dram__bytes.sum.per_second", "gpc__cycles_elapsed.avg.per_second"):
        assert roads[0].metrics.units.get(name) == roads[1].metrics.units.get(name)


def test_instances_agree(roads: Roads) -> None:
    by_ncu, by_wheel = map(instances, roads)
    assert by_ncu.keys() == by_wheel.keys()
    assert all(close(value, by_wheel[key]) for key, value in by_ncu.items())


def test_rules_agree_word_for_word(roads: Roads) -> None:
    by_ncu, by_wheel = (
        [(r.launch_id, r.position, r.section, r.rule, r.type, r.message, r.speedup_type) for r in capture.rules]
        for capture in roads
    )
    assert by_ncu == by_wheel
    estimates = [[r.speedup_pct or 0.0 for r in capture.rules] for capture in roads]
    assert estimates[0] == pytest.approx(estimates[1], rel=5e-4)


def test_details_agree(roads: Roads) -> None:
    by_ncu, by_wheel = map(details, roads)
    assert by_ncu.keys() == by_wheel.keys()
    assert all(same(value, by_wheel[key]) for key, value in by_ncu.items())
