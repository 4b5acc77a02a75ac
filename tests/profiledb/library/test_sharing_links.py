"""Sharing links: their secrets, expiry and number."""

from dataclasses import replace
from datetime import datetime, timedelta, tzinfo

import pytest

from profiledb.errors import AnalysisError, NotAllowedError, ReportNotFoundError
from profiledb.library import sharing_links
from profiledb.library.catalog import Catalog, Manifest
from profiledb.library.visitor import Visitor

REPORT = Manifest("a" * 16, 6, "one.nsys-rep", "nsys", "a" * 64, 1, ingested_at="2026-01-01T00:00:00+00:00")
EDITH = Visitor("Edith", "login", frozenset())


@pytest.fixture(name="catalog")
def make_catalog(catalog: Catalog) -> Catalog:
    catalog.add_report(REPORT)
    catalog.add_report(replace(REPORT, id="b" * 16, space="kernels"))
    return catalog


def test_a_link_opens_its_report_until_it_ends(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = catalog.asked_by(EDITH).sharing_links.create(REPORT.id, 2, 30)
    shown = catalog.sharing_links.find(secret)
    assert shown is not None
    assert (shown.report_id, shown.made_by) == (REPORT.id, "Edith")
    assert 2 * 86_400 - 60 < shown.seconds <= 2 * 86_400
    assert secret not in str(catalog.sharing_links.all())
    for wrong in (
        "",
        "ws_",
        secret[:-1],
        secret[:-1] + ("0" if secret[-1] != "0" else "1"),
        f"{secret}0",
        "x" * 10_000,
    ):
        assert catalog.sharing_links.find(wrong) is None

    class Later(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> "Later":
            return super().now(tz) + timedelta(days=2)

    monkeypatch.setattr(sharing_links, "datetime", Later)
    assert catalog.sharing_links.find(secret) is None
    assert catalog.sharing_links.all() == []


def test_an_admin_ends_it_and_so_does_the_end_of_its_report(catalog: Catalog) -> None:
    first, second = (catalog.asked_by(EDITH).sharing_links.create(REPORT.id, 1, 1) for _ in range(2))
    number = first.split("_")[1]
    with pytest.raises(NotAllowedError):
        catalog.asked_by(EDITH).sharing_links.end(number)
    catalog.sharing_links.end(number)
    assert catalog.sharing_links.find(first) is None
    assert catalog.sharing_links.find(second) is not None
    with pytest.raises(AnalysisError, match="no such link"):
        catalog.sharing_links.end(number)
    told = [(entry.who, entry.action, entry.report_id) for entry in catalog.audit.entries(most=3)]
    assert told == [("local", "ended link", REPORT.id), *[("Edith", "shared", REPORT.id)] * 2]
    catalog.remove_report(REPORT.id)
    catalog.add_report(REPORT)
    assert catalog.sharing_links.find(second) is None


@pytest.mark.parametrize(("days", "most"), [(0, 30), (31, 30), (1, 0), (-1, 30)])
def test_how_long_a_link_lasts_is_bounded(catalog: Catalog, days: int, most: float) -> None:
    with pytest.raises(AnalysisError):
        catalog.sharing_links.create(REPORT.id, days, most)


def test_links_are_bounded_and_of_what_one_sees(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ReportNotFoundError):
        catalog.asked_by(EDITH).sharing_links.create("b" * 16, 1, 30)
    catalog.sharing_links.create("b" * 16, 1, 30)
    assert catalog.asked_by(EDITH).sharing_links.all() == []
    monkeypatch.setattr(sharing_links, "MOST", 1)
    with pytest.raises(AnalysisError, match="at most"):
        catalog.sharing_links.create(REPORT.id, 1, 30)
