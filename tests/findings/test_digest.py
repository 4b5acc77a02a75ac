"""The digest of firing rules for lists is valid only while nothing has changed."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import duckdb
import pytest

from profiledb.findings import digest, judge, rulebook
from profiledb.findings.digest import Found
from profiledb.findings.finding import Finding
from profiledb.findings.rule import Rule
from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.report import store
from profiledb.report.derived_files import FINDINGS
from profiledb.report.schema import SCHEMA_VERSION
from tests.support.memory_reports import fill
from tests.support.page_reports import Publish, empty, kernel

BUSY = ((0, 10_000_000), (90_000_000, 100_000_000))


@pytest.fixture
def rules() -> Mapping[str, Rule]:
    return rulebook.load(None)


def write(db: duckdb.DuckDBPyConnection) -> None:
    """A GPU that is idle for eight tenths of the time."""
    fill(db, 100_000_000, BUSY, kernel=[kernel(number, 1, *span) for number, span in enumerate(BUSY)])


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Sequence[Finding]:
    """Findings of the report, in a library of its own, judged once."""
    folder = tmp_path_factory.mktemp("judged")
    library = Library(folder / "library")
    with store.create(folder / "made.duckdb", ready=empty()) as db:
        write(db)
    manifest = Manifest("0" * 16, SCHEMA_VERSION, "made.rep", "nsys", "made", 1)
    library.publish(folder / "made.duckdb", manifest)
    return tuple(judge.judge(library, library.find(manifest.id), {}, rulebook.load(None).values()))


@pytest.fixture
def report(library: Library, publish: Publish, rules: Mapping[str, Rule], found: Sequence[Finding]) -> str:
    """The same report with its findings."""
    report_id = publish(write)
    digest.write_digest(library, report_id, rules, found)
    return report_id


def test_what_fires_is_read_in_order(library: Library, report: str, rules: Mapping[str, Rule]) -> None:
    found = digest.read_digest(library, report, {}, rules)
    assert found is not None
    first = found[0]
    assert (first.rule, first.severity, first.saving_pct, first.costs) == ("gpu_idle", "high", 80.0, True)
    assert first.sentence.startswith("The GPU is idle 80.0 % of the time")
    judged = [one for one in judge.judge(library, library.find(report), {}, rules.values()) if one.verdict == "fires"]
    assert [one.rule for one in found] == [one.rule.name for one in judged]


def test_it_counts_only_while_nothing_has_changed(library: Library, report: str, rules: Mapping[str, Rule]) -> None:
    for kind in ("ncu", "systems"):
        assert digest.read_digest(library, report, {kind: {report: "0" * 16}}, rules) is None, "another linked report"
        assert digest.read_digest(library, report, {kind: {"1" * 16: "0" * 16}}, rules), "that of another report"
    assert (
        digest.read_digest(library, report, {}, {name: one for name, one in rules.items() if name != "gpu_idle"})
        is None
    )
    one = rules["gpu_idle"]
    params = tuple(replace(param, default="99") for param in one.analysis.params)
    changed = {**rules, "gpu_idle": replace(one, analysis=replace(one.analysis, params=params))}
    assert digest.read_digest(library, report, {}, changed) is None, "another threshold"
    library.put_sidecar(report, "meta", "{}")
    assert digest.read_digest(library, report, {}, rules) is None, "a file beside the report"


def test_a_trace_is_judged_beside_its_systems_report(
    library: Library, publish: Publish, report: str, rules: Mapping[str, Rule]
) -> None:
    """The steps of the linked Systems report show how much time the profiler adds to the trace."""
    nsys = publish(fill)
    every = library.catalog.links.all
    assert digest.read_digest(library, report, digest.read_links(every), rules)
    library.catalog.links.put(nsys, report, "trace")
    assert digest.read_links(every)["systems"] == {report: nsys}
    assert digest.read_digest(library, report, digest.read_links(every), rules) is None


def test_nothing_is_known_of_what_nobody_judged(library: Library, publish: Publish, rules: Mapping[str, Rule]) -> None:
    assert digest.read_digest(library, publish(fill), {}, rules) is None


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"key": 1, "found": [{"x": 1}]}', b"\xff" * 100, b"1" * 2_000_000]
)
def test_a_damaged_file_counts_as_none(
    library: Library, report: str, rules: Mapping[str, Rule], content: bytes
) -> None:
    (library.derived.answers / report / FINDINGS).write_bytes(content)
    assert digest.read_digest(library, report, {}, rules) is None


def test_where_answers_are_not_kept_there_is_none(
    library: Library, publish: Publish, rules: Mapping[str, Rule], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WARPDECK_ANSWERS_MB", "0")
    report = publish(fill)
    digest.write_digest(library, report, rules, [])
    assert digest.read_digest(library, report, {}, rules) is None


def test_remarks_cost_nothing() -> None:
    assert not Found("hot_kernel", "note", None, "").costs
    assert not Found("lost_events", "warning", None, "").costs
