"""The list of reports in both databases: search, filters, order, pages, and no trace of a hidden report."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from profiledb.errors import ReportNotFoundError
from profiledb.library import migrations, team_database
from profiledb.library.catalog import FILE, LAUNCHES, TIMELINE, Catalog, Manifest
from profiledb.library.postgres import Postgres
from profiledb.library.report_list import ORDERS, PAGE, Filters
from profiledb.library.visitor import Visitor
from profiledb.report.schema import SCHEMA_VERSION
from tests.support.postgres import Server

MADE = "2026-01-01T00:00:00+00:00"
A = Manifest(
    "a" * 16, SCHEMA_VERSION, "train.nsys-rep", "nsys", "a" * 64, 10, gpu="H100", ingested_at=MADE,
    captured_at="2026-03-01T10:00:00+00:00", command="python train.py --lr 100%", rows={"kernel": 7}, duration_ns=5,
)  # fmt: skip
B = replace(
    A, id="b" * 16, name="x.ncu-rep", kind="ncu", gpu="T4", captured_at=None, command=None, source_bytes=20,
    rows={"ncu_launch": 9}, duration_ns=None, ingested_at="2026-01-02T00:00:00+00:00",
)  # fmt: skip
C = replace(
    A, id="c" * 16, name="old_trace.json", kind="torch", tool="Chrome trace", schema_version=SCHEMA_VERSION - 1,
    ingested_at="2026-01-03T00:00:00+00:00", command=None, gpu="\N{LATIN SMALL LETTER SHARP S}_gpu",
    rows={"operator": 1, "kernel": 1}, sample=True, captured_at="2026-02-01T10:00:00+00:00", space="kernels",
)  # fmt: skip
OTTO = Visitor("Otto", "login", frozenset({"all"}))


def fill(catalog: Catalog) -> Catalog:
    for one in (A, B, C):
        catalog.add_report(one)
    catalog.set_labels(B.id, ["slow", "v2"])
    catalog.set_labels(C.id, ["secret"])
    catalog.listing.put_findings(A.id, "1", ["gpu_idle"])
    catalog.listing.put_findings(B.id, "1", ["hot_kernel"])
    catalog.listing.put_findings(C.id, "1", ["secret_rule"])
    return catalog


@pytest.fixture(name="catalog")
def make_catalog(catalog: Catalog) -> Catalog:
    return fill(catalog)


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def listed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalog]:
    """The same catalog, of each kind in turn. It is only read."""
    if request.param == "sqlite":
        yield fill(Catalog(tmp_path_factory.mktemp("listed") / FILE))
    else:
        shared = team_database.open_database(request.getfixturevalue("postgres").create())
        yield fill(Catalog(shared))
        shared.close()


def ids(found: list[Manifest]) -> str:
    return "".join(one.id[0] for one in found)


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        (Filters(), "cba"),
        (Filters(text="TRAIN h100"), "a"),
        (Filters(text="slow"), "b"),
        (Filters(text="aaaa"), "a"),
        (Filters(text="100%"), "a"),
        (Filters(text="100_"), ""),
        (Filters(text="!"), ""),
        (Filters(text="SS_GPU"), "c"),
        (Filters(text="older"), "c"),
        (Filters(is_older=True), "c"),
        (Filters(text="'; --\0\ud800"), ""),
        (Filters(kinds=("ncu",)), "b"),
        (Filters(kinds=("Chrome trace", "ncu")), "cb"),
        (Filters(kinds=("torch",)), ""),
        (Filters(gpus=("H100",)), "a"),
        (Filters(labels=("slow", "v2")), "b"),
        (Filters(labels=("slow", "v3")), ""),
        (Filters(rules=("gpu_idle",), judged_by="1"), "a"),
        (Filters(rules=("gpu_idle",), judged_by="2"), ""),
        (Filters(rules=("gpu_idle", "hot_kernel"), judged_by="1"), ""),
        (Filters(since=date(2026, 2, 1)), "ca"),
        (Filters(since=date(2026, 2, 1), until=date(2026, 2, 1)), "c"),
        (Filters(until=date(2026, 2, 28)), "c"),
        (Filters(until=datetime(2026, 2, 1, 10, tzinfo=UTC)), "c"),
        (Filters(until=datetime(2026, 2, 1, 9, 59, tzinfo=UTC)), ""),
        (Filters(since=datetime(2026, 2, 1, 10, tzinfo=UTC), until=datetime(2026, 2, 1, 11, tzinfo=UTC)), "c"),
        (Filters(since=datetime(2026, 2, 1, 10, 1, tzinfo=UTC)), "a"),
        (Filters(subject=TIMELINE), "ca"),
        (Filters(subject=LAUNCHES), "b"),
        (Filters(has_operators=True), "c"),
        (Filters(is_sample=False), "ba"),
    ],
)
def test_filters(listed: Catalog, filters: Filters, found: str) -> None:
    assert ids(listed.listing.page(filters)) == found
    assert listed.listing.count(filters) == len(found)


@pytest.mark.parametrize(
    ("order", "found"),
    [
        ("newest", "cba"), ("name", "cab"), ("gpu", "abc"), ("captured", "acb"), ("duration", "cab"),
        ("kernels", "bac"), ("size", "bca"),
    ],
)  # fmt: skip
def test_orders(listed: Catalog, order: str, found: str) -> None:
    assert ids(listed.listing.page(order=order)) == found
    pages = [listed.listing.page(order=order, first=first, most=1) for first in range(4)]
    assert "".join(map(ids, pages)) == found
    assert set(ORDERS) == {"newest", "name", "gpu", "captured", "duration", "kernels", "size"}


def test_what_people_say_changes_the_list_at_once(catalog: Catalog) -> None:
    listing = catalog.listing
    catalog.rename(A.id, "Baseline 100%")
    assert ids(listing.page(order="name")) == "acb"
    assert ids(listing.page(Filters(text="baseline"))) == ids(listing.page(Filters(text="train"))) == "a"
    assert listing.find("Baseline 100%").id == A.id
    catalog.rename(A.id, "")
    assert not listing.count(Filters(text="baseline"))
    catalog.set_labels(B.id, [])
    assert not listing.count(Filters(text="slow"))
    assert listing.labels() == ["secret"]
    catalog.set_labels(A.id, ["new"])
    catalog.hand_over(A.id, B.id)
    assert ids(listing.page(Filters(text="new"))) == "ba"
    catalog.remove_report(A.id)
    assert listing.rules("1") == ["hot_kernel", "secret_rule"]
    catalog.unlist_report(B.id)
    assert ids(listing.page()) == "c"
    catalog.add_report(B)
    assert ids(listing.page(Filters(text="new"))) == "b", "its label is found again"


def test_choices_and_namesakes(catalog: Catalog) -> None:
    listing = catalog.listing
    assert (listing.kinds(), listing.gpus()) == (["Chrome trace", "ncu", "nsys"], ["H100", "T4", C.gpu])
    assert (listing.labels(), listing.rules("1")) == (
        ["secret", "slow", "v2"],
        ["gpu_idle", "hot_kernel", "secret_rule"],
    )
    assert listing.rules("2") == []
    assert listing.labels_of([B.id, A.id]) == {B.id: ["slow", "v2"]}
    assert list(listing.get([B.id, "no", A.id, "\ud800"])) == [B.id, A.id]
    assert listing.find("bbb").id == listing.find("x.ncu-rep").id == B.id
    twin = replace(A, id="a" * 15 + "b")
    catalog.add_report(twin)
    for name, words in (
        ("train.nsys-rep", "2 reports are called"),
        ("aa", "matches the start of 2"),
        ("no", "No report"),
    ):
        with pytest.raises(ReportNotFoundError, match=words):
            listing.find(name)
    for number in range(PAGE):
        catalog.add_report(replace(A, id=f"{number:016x}"))
    with pytest.raises(ReportNotFoundError, match="100 or more"):
        listing.find("train.nsys-rep")
    assert listing.find("a" * 16).id == A.id


def test_a_hidden_report_is_in_no_count_search_page_or_choice(catalog: Catalog) -> None:
    listing = catalog.asked_by(OTTO).listing
    assert (listing.count(), ids(listing.page())) == (2, "ba")
    for order in ORDERS:
        assert "c" not in ids(listing.page(order=order))
    for filters in (
        Filters(text="old_trace"),
        Filters(labels=("secret",)),
        Filters(rules=("secret_rule",), judged_by="1"),
    ):
        assert (listing.count(filters), listing.page(filters)) == (0, [])
        assert catalog.listing.count(filters) == 1
    told = [listing.kinds(), listing.gpus(), listing.labels(), listing.rules("1"), listing.labels_of([C.id]),
            listing.get([C.id]), listing.filter_ids([C.id, A.id]), listing.unjudged("2")]  # fmt: skip
    assert told == [["ncu", "nsys"], ["H100", "T4"], ["slow", "v2"], ["gpu_idle", "hot_kernel"], {}, {}, [A.id],
                    [B.id, A.id]]  # fmt: skip
    for name in (C.id, C.id[:5], C.name):
        with pytest.raises(ReportNotFoundError):
            listing.find(name)
    catalog.spaces.put("kernels", ["all"])
    assert (listing.count(), ids(listing.page(Filters(text="secret")))) == (3, "c")


def test_verdicts_of_other_rules_are_missing(catalog: Catalog) -> None:
    assert catalog.listing.unjudged("1") == []
    assert catalog.listing.unjudged("2") == [C.id, B.id, A.id]
    catalog.listing.put_findings(B.id, "2", [])
    assert catalog.listing.unjudged("2") == [C.id, A.id]
    assert catalog.listing.rules("2") == []


def test_a_catalog_of_an_earlier_version_lists_its_reports(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path / FILE)
    for one in (A, B):
        catalog.add_report(one)
    catalog.set_labels(A.id, ["kept"])
    with closing(sqlite3.connect(tmp_path / FILE)) as db, db:
        db.execute("DROP TABLE listing")
        db.execute("UPDATE report SET manifest = 'x' WHERE id = ?", [B.id])
    catalog = Catalog(tmp_path / FILE)
    assert ids(catalog.listing.page(Filters(text="kept"))) == ids(catalog.listing.page()) == "a"


def test_a_database_of_an_earlier_version_lists_its_reports(postgres: Server) -> None:
    url = postgres.create()
    catalog = Catalog(Postgres(url))
    for one in (A, B):
        catalog.add_report(one)
    catalog.set_labels(A.id, ["kept"])
    migrations.move(url, "0011")
    migrations.move(url)
    assert ids(Catalog(Postgres(url)).listing.page()) == "ba"
    assert ids(Catalog(Postgres(url)).listing.page(Filters(text="kept"))) == "a"


def test_names_and_facts_of_any_length_are_listed(catalog: Catalog) -> None:
    long = replace(A, id="d" * 16, gpu="g" * 9000, tool="t" * 9000, kind="torch", command="c" * 99_000)
    catalog.add_report(long)
    assert ids(catalog.listing.page(Filters(text="c" * 300))) == "d"
