"""Exports of other versions of nsys: a sample in their schema gives the same numbers."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from profiledb.library.library import Library
from profiledb.query import analysis
from tests.conftest import CORPUS, SAMPLES, Ingest, ingest_files
from tests.support.bounded_conversion import converted
from tests.support.dropped_files import needs_corpus
from tests.support.nsys_schemas import NEWER, NEWEST, OLDER, OLDEST, Schema, rewrite

SAMPLE = SAMPLES / "transformer_training.sqlite"
ASKED = (
    "cuda_gpu_kern_sum", "cuda_gpu_mem_time_sum", "cuda_gpu_mem_size_sum", "cuda_api_sum", "nvtx_sum",
    "nvtx_gpu_proj_sum", "kernels", "gpu_busy", "idle_reasons", "report_facts",
)  # fmt: skip
OTHERS = (OLDER, NEWER, NEWEST)
OWN_FACTS = {"converter", "export_schema_version"}


def answers(library: Library, name: str) -> dict[str, list[dict[Any, Any]]]:
    report = library.find(name).id
    told: dict[str, list[dict[Any, Any]]] = {}
    for asked in ASKED:
        rows = analysis.run(library, report, asked)
        kept = rows[[column for column in rows.columns if column not in OWN_FACTS]]
        rounded = kept.map(lambda cell: float(f"{cell:.12g}") if isinstance(cell, float) else cell)  # sums in any order
        told[asked] = rounded.astype(object).where(kept.notna(), None).to_dict("records")
    return told


@pytest.mark.integration
@pytest.mark.parametrize(
    "schema",
    [
        OLDEST,
        *(pytest.param(one, marks=pytest.mark.slow("asks ten analyses of one more report")) for one in OTHERS),
    ],
    ids=lambda one: one.product,
)
def test_a_sample_in_another_schema_has_the_same_numbers(
    ingest: Ingest, inbox: Path, empty_library: Library, tmp_path: Path, schema: Schema
) -> None:
    ingest_files(tmp_path, [SAMPLE])
    rewrite(SAMPLE, inbox / "other.sqlite", schema)
    query = converted(ingest, inbox, empty_library, "other.sqlite")
    assert query("SELECT export_schema_version FROM report") == [(schema.version,)]
    first = answers(Library(tmp_path / "library"), SAMPLE.name)
    assert all(first.values()), "each question has an answer"
    assert answers(empty_library, "other.sqlite") == first
    if "CUPTI_ACTIVITY_KIND_KERNEL" in schema.more:
        assert query("SELECT DISTINCT cluster_x, cluster_y, graph_id FROM kernel") == [(2, 1, None)]


@needs_corpus
@pytest.mark.parametrize(
    ("schema", "export", "tables"),
    [
        (OLDER, "um_events_lost.sqlite", ("CUPTI_ACTIVITY_KIND_KERNEL", *OLDER.less)),
        (NEWER, "too_new_2026.sqlite", tuple(NEWER.more)),
    ],
    ids=["2024.4", "2026.1"],
)
def test_the_columns_are_those_of_a_real_export(
    tmp_path: Path, schema: Schema, export: str, tables: tuple[str, ...]
) -> None:
    """For the tables that both have; the sample has no OS calls and no CPU samples, which make no difference here."""
    rewrite(SAMPLE, tmp_path / "other.sqlite", schema)
    with (
        closing(sqlite3.connect(CORPUS / export)) as real,
        closing(sqlite3.connect(tmp_path / "other.sqlite")) as made,
    ):
        for table in tables:
            there, here = ({row[1] for row in db.execute(f"PRAGMA table_info({table})")} for db in (real, made))
            assert here == there, table
