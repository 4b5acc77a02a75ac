"""Both profilers on one program: kernels agree, a link gives a report operators, and wrong pairs are refused."""

import gzip
import json
import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from profiledb.access.cli import main as cli
from profiledb.errors import AnalysisError, DamagedError, NotLinkedError
from profiledb.library.library import Library
from profiledb.query import analysis
from profiledb.studies.trace_link import links
from profiledb.timeline import operators
from tests.conftest import copy_data
from tests.support.page_reports import records
from tests.support.torch_samples import FOLDER, INFERENCE, NSYS, RANKS, TRAINING, needs_torch_samples

pytestmark = needs_torch_samples


@pytest.fixture
def shelf(torch_samples: Library, tmp_path: Path) -> Library:
    """A copy of the samples that a test may link."""
    copy_data(torch_samples.folder, tmp_path / "library")
    return Library(tmp_path / "library")


def rows(library: Library, name: str, analysis_: str, **params: Any) -> list[dict[str, Any]]:
    return records(analysis.run(library, library.find(name).id, analysis_, params))


@pytest.mark.parametrize("trace", [TRAINING, INFERENCE])
def test_kernels_of_both_profilers_agree(torch_samples: Library, trace: str) -> None:
    """Names and counts are equal; durations agree within 2 % in total and within 30 % or 1 us per kernel."""
    ours, theirs = (
        {row["normal_name"]: row for row in rows(torch_samples, name, "kernel_totals")} for name in (NSYS[trace], trace)
    )
    assert Counter({name: row["calls"] for name, row in ours.items()}) == Counter(
        {name: row["calls"] for name, row in theirs.items()}
    )
    sums = [sum(row["total_ns"] for row in side.values()) for side in (ours, theirs)]
    assert sums[0] == pytest.approx(sums[1], rel=0.02)
    for name, row in ours.items():
        calls = row["calls"]
        mean, other = (one["total_ns"] / calls for one in (row, theirs[name]))
        assert mean == pytest.approx(other, rel=0.3, abs=1000), name


def test_pairs_are_those_of_the_files_themselves(torch_samples: Library) -> None:
    """Kernels of both files in the order of their one stream, read without our code: the n-th matches the n-th."""
    with closing(sqlite3.connect(f"{(FOLDER / NSYS[TRAINING]).as_uri()}?immutable=1", uri=True)) as db:
        order = "SELECT rowid FROM CUPTI_ACTIVITY_KIND_KERNEL ORDER BY start"
        here = [row for (row,) in db.execute(order)]
    events = json.loads(gzip.decompress((FOLDER / TRAINING).read_bytes()))["traceEvents"]
    starts = [event["ts"] for event in events if event.get("cat") == "kernel"]
    there = sorted(range(len(starts)), key=starts.__getitem__)
    found = links.match_kernels(torch_samples, *(torch_samples.find(name).id for name in (NSYS[TRAINING], TRAINING)))
    assert found.count_text == "828 of 828 kernels match (100.0 %)"
    assert found.differs == ""
    ours, theirs = (found.pairs[name].to_pylist() for name in ("kernel_id", "trace_kernel_id"))
    rank = [sorted(ids).index for ids in (ours, theirs)]
    assert [(rank[0](a), rank[1](b)) for a, b in zip(ours, theirs, strict=True)] == sorted(
        zip((sorted(here).index(row) for row in here), there, strict=True)
    )


@pytest.mark.parametrize("name", [NSYS[TRAINING], NSYS[INFERENCE]])
def test_a_report_without_a_link_has_no_operators(torch_samples: Library, name: str) -> None:
    with pytest.raises(NotLinkedError, match="no linked trace"):
        rows(torch_samples, name, "kernel_operators")


def test_a_linked_report_has_the_operators_of_the_trace(shelf: Library) -> None:
    """By kernel, operator, shapes and module, the launches are those of the trace, with the report's own durations."""
    links.link_trace(shelf, NSYS[TRAINING], TRAINING)
    ours, theirs = (rows(shelf, name, "kernel_operators") for name in (NSYS[TRAINING], TRAINING))

    def counted(found: list[dict[str, Any]]) -> Counter[tuple[str, ...]]:
        keys = ("operator", "shapes", "types", "modules", "calls")
        return Counter(tuple(str(row[key]) for key in keys) for row in found)

    assert counted(ours) == counted(theirs)
    total = shelf.find(NSYS[TRAINING]).id
    assert (
        sum(row["total_ns"] for row in ours)
        == analysis.query(shelf, total, "SELECT sum(end_ns - start_ns)::BIGINT AS ns FROM kernel")["ns"].iloc[0]
    )
    by = {str(row["operator"]): row for row in ours}
    assert by["aten::masked_fill_"]["modules"] in [f"LanguageModel_0 / Block_{n} / SelfAttention_{n}" for n in (0, 1)]
    assert str(by["aten::masked_fill_"]["stack"]).startswith("workloads/language_model.py(")


def test_backward_kernels_have_the_module_and_code_of_their_forward_operator(torch_samples: Library) -> None:
    """Each module has as many backward kernels as the sequence numbers in the file say."""
    found = rows(torch_samples, TRAINING, "kernel_operators")
    of_linear = [row for row in found if str(row["modules"]).endswith("Linear_8")]
    assert {str(row["operator"]) for row in of_linear} >= {"aten::mm"}
    assert {str(row["shapes"]) for row in of_linear if row["operator"] == "aten::mm"} == {
        "[[4096,768],[768,8192]]",  # forward
        "[[8192,4096],[4096,768]]",  # gradient of the weights
        "[[4096,8192],[8192,768]]",  # gradient of the input
    }


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        (NSYS[INFERENCE], TRAINING, "do not run the same kernels: 0 of 280"),
        (NSYS[TRAINING], INFERENCE, "do not run the same kernels: 0 of 828"),
        (NSYS[TRAINING], NSYS[INFERENCE], "no trace of the PyTorch profiler"),
        (TRAINING, INFERENCE, "operators of its own"),
        (NSYS[TRAINING], RANKS[1], "do not run the same kernels"),
    ],
)
def test_wrong_pairs_are_refused(shelf: Library, one: str, other: str, told: str) -> None:
    with pytest.raises(AnalysisError, match=told):
        links.link_trace(shelf, one, other)
    assert shelf.catalog.links.all("trace") == {}


def test_the_life_of_a_link(shelf: Library, capsys: pytest.CaptureFixture[str]) -> None:
    where = ["--library", str(shelf.folder)]
    assert cli.main(["link", NSYS[TRAINING], TRAINING, *where]) == 0
    assert "828 of 828 kernels match (100.0 %)." in capsys.readouterr().out
    nsys, trace = (shelf.find(name).id for name in (NSYS[TRAINING], TRAINING))
    assert shelf.linked_report(nsys, "trace") == trace
    assert shelf.linked_report(nsys) is None
    first = analysis.query(shelf, nsys, "SELECT min(kernel_id) AS k FROM kernel")["k"].iloc[0]
    told = dict(operators.describe_operator(shelf, nsys, int(first)))
    assert told["Operator"].startswith("aten::")
    assert set(told) >= {"Operator", "Input shapes", "Python stack"}
    shelf.recover()
    assert shelf.linked_report(nsys, "trace") == trace, "recovery keeps it"
    assert cli.main(["link", NSYS[TRAINING], "--remove", *where]) == 0
    assert shelf.linked_report(nsys, "trace") is None
    assert operators.describe_operator(shelf, nsys, int(first)) == []
    links.link_trace(shelf, nsys, trace)
    shelf.delete(trace)
    assert shelf.linked_report(nsys, "trace") is None
    assert list(shelf.reports.glob("*.parquet")) == []


def test_a_damaged_link_says_so(shelf: Library) -> None:
    links.link_trace(shelf, NSYS[INFERENCE], INFERENCE)
    (file,) = shelf.reports.glob("*.parquet")
    file.write_bytes(b"PAR1 and nothing else")
    with pytest.raises(DamagedError, match="link to the trace is damaged"):
        rows(shelf, NSYS[INFERENCE], "kernel_operators")
    file.unlink()
    with pytest.raises(NotLinkedError):
        rows(shelf, NSYS[INFERENCE], "kernel_operators")
    shutil.rmtree(shelf.folder)
