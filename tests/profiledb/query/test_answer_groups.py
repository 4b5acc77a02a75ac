"""Answers that build on the same rows: together they are what each is alone."""

from typing import Any

import pytest

from profiledb.errors import AnalysisError
from profiledb.library.library import Library
from profiledb.query import analysis, answer_groups, header, request
from profiledb.query.request import Request
from tests.support.memory_reports import make_gaps
from tests.support.page_reports import make_library, make_publish

__all__ = ["make_gaps", "make_library", "make_publish"]  # fixtures

SELECTIONS: tuple[dict[str, Any], ...] = (
    {}, {"warmup": "exclude"}, {"within": "steps", "warmup": "exclude"}, {"from_ns": 1_000_000, "to_ns": 60_000_000},
)  # fmt: skip


def asked(library: Library, name: str, analysis_name: str, **params: Any) -> tuple[Request, ...]:
    return answer_groups.members(request.build(library, library.find(name).id, analysis_name, params))


@pytest.mark.parametrize("selection", SELECTIONS, ids=str)
@pytest.mark.parametrize(
    "name", ["transformer_training.nsys-rep", "dataloader_starved.nsys-rep", "host_python.nsys-rep"]
)
def test_each_answer_is_what_it_is_alone(nsys_samples: Library, name: str, selection: dict[str, Any]) -> None:
    several = asked(nsys_samples, name, "idle_gaps", **selection)
    found = answer_groups.answers(nsys_samples, several)
    sampled = {"idle_code"} if "cpu_sample" in nsys_samples.find(name).rows else set()
    assert set(found) == {"idle_reasons", "idle_gaps", "idle_ranges", "time_split"} | sampled
    for one, rows in found.items():
        alone = analysis.run(nsys_samples, nsys_samples.find(name).id, one, selection)
        assert rows.equals(alone), one
        assert len(rows) or "from_ns" in selection, one


def test_what_the_report_lacks_is_left_out(library: Library, gaps: str) -> None:
    """The report has a range and no CPU samples."""
    several = asked(library, gaps, "idle_reasons")
    assert [one.analysis.name for one in several] == [
        "idle_reasons", "idle_gaps", "idle_ranges", "idle_code", "time_split",
    ]  # fmt: skip
    assert set(answer_groups.answers(library, several)) == {"idle_reasons", "idle_gaps", "idle_ranges", "time_split"}


def test_only_defaults_are_answered_together(library: Library, gaps: str) -> None:
    assert asked(library, gaps, "idle_gaps", limit=2) == ()
    assert asked(library, gaps, "kernels") == ()


def test_the_rows_are_made_for_the_defaults() -> None:
    """A file of SQL that says a length of gaps says that which its analyses have as their default."""
    for name, group in answer_groups.groups().items():
        assert name in group.names
        least = [param.default for param in header.get(name).params if param.name == "min_ns"]
        assert len(least) == group.sql.count("FROM selected_idle(")
        assert all(f"selected_idle({one}, NULL)" in group.sql for one in least)


def test_members_have_one_key_which_tells_selections_apart(library: Library, gaps: str) -> None:
    keys = [answer_groups.key(library, asked(library, gaps, name)) for name in ("idle_reasons", "idle_code")]
    assert keys[0] == keys[1]
    assert keys[0] != answer_groups.key(library, asked(library, gaps, "idle_reasons", to_ns=50_000))


def test_a_range_that_is_not_there_is_said(library: Library, gaps: str) -> None:
    with pytest.raises(AnalysisError, match="nowhere"):
        answer_groups.answers(library, asked(library, gaps, "idle_reasons", range="nowhere"))
