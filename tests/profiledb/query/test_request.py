"""Requests: their content, and keys that differ whenever answers may."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import duckdb
import pandas as pd
import pytest

from profiledb.errors import NotCapturedError, NotLinkedError
from profiledb.library.library import Library
from profiledb.query import analysis, header, request
from profiledb.selection.model import Selection
from tests.support.page_reports import Publish, insert, kernel, name

TRAINING = "transformer_training.nsys-rep"
WITHOUT_MODE = [one.name for one in header.list_analyses().values() if one.by_part and not one.by_mode]
FEW = ("kernels", "gpu_busy", "copies", "api_calls")


@pytest.fixture
def report_id(publish: Publish) -> str:
    def fill(db: duckdb.DuckDBPyConnection) -> None:
        insert(db, "kernel_name", [name(1, "f")])
        insert(db, "kernel", [kernel(1, 1, 0, 9)])

    return publish(fill)


def test_defaults_and_what_stands_at_them_are_the_same(library: Library, report_id: str) -> None:
    plain = request.build(library, report_id, "kernels")
    assert plain == request.build(library, report_id, "kernels", {"search": None, "warmup": "include", "range": ()})
    assert plain == request.build(library, report_id, "kernels", {"mode": "process"})
    assert plain != request.build(library, report_id, "kernels", {"device": "0"})
    assert plain != request.build(library, report_id, "kernels", {"search": "f"})
    chosen = request.build(library, report_id, "kernels", {"mode": "process", "range": "step"}).selection
    assert chosen == Selection(ranges=("step",), mode="process")


def test_an_analysis_takes_its_own_parameters_and_those_of_a_selection() -> None:
    given = {"search": "f", "mode": "process", "nothing": 1}
    assert header.get("kernels").taken(given) == {"search": "f", "mode": "process"}
    assert header.get("range_paths").taken(given) == {}


def test_the_key_changes_with_what_is_asked_and_with_every_file(
    library: Library,
    report_id: str,
    publish: Publish,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    def key(analysis_name: str, **params: object) -> object:
        return request.build(library, report_id, analysis_name, params).key(library)

    assert key("kernels") == key("kernels")
    keys = [key("kernels"), key("kernels", search="f"), key("kernels", device=0), key("class_split")]
    library.put_sidecar(report_id, "meta", "{}")
    keys.append(key("kernels"))
    keys.append(key("ncu_coverage"))
    compute = publish(lambda _: None, "ncu")
    library.catalog.links.put(report_id, compute)
    keys.append(key("ncu_coverage"))
    assert key("ncu_coverage") == key("ncu_coverage", ncu=compute)
    keys.append(key("matmul_split"))
    phases = tmp_path_factory.mktemp("own") / "phases.toml"
    phases.write_text("")
    monkeypatch.setenv("WARPDECK_PHASES", str(phases))
    keys.append(key("matmul_split"))
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize(
    "names",
    [FEW, pytest.param(WITHOUT_MODE, marks=pytest.mark.slow("every analysis without a mode"))],
    ids=["few", "all"],
)
def test_the_mode_changes_nothing_where_it_is_left_out(nsys_samples: Library, names: Sequence[str]) -> None:
    report_id, compared = nsys_samples.find(TRAINING).id, set()
    for one in names:
        asked = request.build(nsys_samples, report_id, one, {"warmup": "exclude"})
        by_process = replace(asked, selection=replace(asked.selection, mode="process"))
        with suppress(NotCapturedError, NotLinkedError):
            rows = analysis.answer(nsys_samples, asked)
            pd.testing.assert_frame_equal(analysis.answer(nsys_samples, by_process), rows)
            compared.add(one)
    assert compared >= set(FEW)
