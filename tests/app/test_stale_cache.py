"""While the database cannot be read, people who had the last answer see it again; later it is renewed."""

from pathlib import Path

import pytest

from app.stale_cache import cache_by_version
from profiledb.errors import CatalogError

HERE = Path("/library")


class Catalog:
    """Answers by a number that goes up, unless it is away."""

    def __init__(self) -> None:
        self.away = False
        self.asked = 0

    def ask(self, _: Path, version: int, who: str) -> str:
        self.asked += 1
        if self.away:
            raise CatalogError("The catalog's database cannot be reached.")
        return f"{version} for {who}"


@pytest.fixture
def catalog(monkeypatch: pytest.MonkeyPatch) -> Catalog:
    monkeypatch.setenv("WARPDECK_DATABASE", "postgresql://nowhere/x")
    return Catalog()


def test_the_last_answer_goes_on_while_it_is_away(catalog: Catalog) -> None:
    ask = cache_by_version(maxsize=2)(catalog.ask)
    assert [ask(HERE, 1, "ada"), ask(HERE, 1, "ada")] == ["1 for ada"] * 2
    assert catalog.asked == 1
    catalog.away = True
    assert ask(HERE, 2, "ada") == "1 for ada"
    with pytest.raises(CatalogError):
        ask(HERE, 2, "victor")
    catalog.away = False
    assert [ask(HERE, 2, "ada"), ask(HERE, 3, "ada")] == ["2 for ada", "3 for ada"]
    assert [ask(HERE, 3, "victor"), ask(HERE, 3, "edith")] == ["3 for victor", "3 for edith"]
    catalog.away = True
    with pytest.raises(CatalogError):
        ask(HERE, 4, "ada")


def test_a_catalog_in_a_file_is_not_away_but_damaged(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WARPDECK_DATABASE")
    ask = cache_by_version(maxsize=2)(catalog.ask)
    ask(HERE, 1, "ada")
    catalog.away = True
    with pytest.raises(CatalogError):
        ask(HERE, 2, "ada")
