"""Exports of newer nsys, and with fewer columns: a sample in their schema has the same numbers."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from profiledb.library.library import Library
from profiledb.query import analysis
from tests.conftest import CORPUS, SAMPLES, Ingest, ingest_files
from tests.support.bounded import converted
from tests.support.dropped import needs_corpus
from tests.support.nsys_schemas import FEWER, NEWER, Schema, rewrite

SAMPLE = SAMPLES / "transformer_training.sqlite"
ASKED = (
    "cuda_gpu_kern_sum", "cuda_gpu_mem_time_sum", "cuda_gpu_mem_size_sum", "cuda_api_sum", "nvtx_sum",
    "nvtx_gpu_proj_sum", "kernels", "gpu_busy", "idle_reasons", "report_facts",
)  # fmt: skip
OWN_FACTS = {"converter", "export_schema_version"}


def answers(library: Library, name: str) -> dict[str, list[dict[Any, Any]]]:
    report = library.find(name).id
    told: dict[str, list[dict[Any, Any]]] = {}
    for asked in ASKED:
        rows = analysis.run(library, report, asked)
        kept = rows[[column for column in rows.columns if column not in OWN_FACTS]]
        told[asked] = kept.astype(object).where(kept.notna(), None).to_dict("records")
    return told


@pytest.mark.integration
@pytest.mark.parametrize("schema", [FEWER, NEWER], ids=lambda one: one.version)
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
def test_the_newer_columns_are_those_of_a_real_export(tmp_path: Path) -> None:
    """Of the tables that both have; the sample has no OS calls and no samples, which change nothing here."""
    rewrite(SAMPLE, tmp_path / "other.sqlite", NEWER)
    with (
        closing(sqlite3.connect(CORPUS / "too_new_2026.sqlite")) as real,
        closing(sqlite3.connect(tmp_path / "other.sqlite")) as made,
    ):
        for table in NEWER.more:
            there, here = ({row[1] for row in db.execute(f"PRAGMA table_info({table})")} for db in (real, made))
            assert here == there, table
