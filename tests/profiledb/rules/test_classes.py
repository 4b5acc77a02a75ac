"""Kernel classes: real names get the class that an engineer expects, and a user's own file has the last word."""

import math
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from operator import itemgetter
from pathlib import Path
from typing import get_args

import duckdb
import pytest

from profiledb.errors import ConfigError
from profiledb.rules import classes as kernel_classes
from profiledb.rules.classes import KernelClass

NAMES = Path(__file__).parents[2] / "data" / "kernel_names.toml"
SOURCES = {
    source.pop("from"): {name: wanted for wanted, names in source.items() for name in names}
    for source in tomllib.loads(NAMES.read_text(encoding="utf-8"))["source"]
}
"""By where they are from: names and the class of each. Names of one source stand beside each other."""
EXPECTED = next(iter(SOURCES.values()))
BUNDLED = kernel_classes.load()

# What each kind of color blindness makes of linear RGB, at full strength (Machado, Oliveira, Fernandes 2009).
VISION = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protan": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deutan": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritan": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}


def classify(names: Iterable[str], classes: Sequence[KernelClass]) -> dict[str, str]:
    """Return the class of each kernel name of a report, evaluated by DuckDB with ``build_case``."""
    with duckdb.connect() as db:
        db.execute("CREATE TABLE kernel AS SELECT unnest(?::VARCHAR[]) AS name", [list(dict.fromkeys(names))])
        case = kernel_classes.build_case("name", classes, "SELECT name FROM kernel")
        return dict(db.execute(f"SELECT name, {case} FROM kernel").fetchall())


@pytest.mark.parametrize("source", SOURCES)
def test_real_names_land_in_their_class(source: str) -> None:
    wanted = SOURCES[source]
    answers = classify(wanted, BUNDLED)
    assert {name: (answers[name], wanted[name]) for name in wanted if answers[name] != wanted[name]} == {}


def test_there_are_names_of_every_class() -> None:
    named = Counter(wanted for names in SOURCES.values() for wanted in names.values())
    assert set(named) == {c.name for c in BUNDLED}
    assert named.total() > 700


def test_every_pattern_decides_for_a_real_name() -> None:
    """A pattern that never decides is dead: no such kernel exists, or an earlier pattern matches it."""
    each = [(rank, c, at) for c in BUNDLED for at, rank in enumerate(c.ranks)]
    alone = [replace(c, name=str(rank), patterns=(c.patterns[at],), ranks=(rank,), besides=c.besides[at : at + 1])
             for rank, c, at in each]  # fmt: skip
    decided = {answer for names in SOURCES.values() for answer in classify(names, alone).values()}
    assert [c.patterns[at] for rank, c, at in sorted(each, key=itemgetter(0)) if str(rank) not in decided] == []


def test_company_decides() -> None:
    """A complex matmul beside its transforms is part of a convolution; no name is a matmul for one letter alone."""
    transforms = "void fft2d_r2c_16x16<float>(float2*, float const*, int, int, int, int, int, int, int, int)"
    names = ["volta_gcgemm_64x32_nt", "void vector_fft<1, 2, 3>", "ampere_sgemm_128x64_nn"]
    alone, beside = classify(names, BUNDLED), classify([*names, transforms], BUNDLED)
    assert list(alone.values()) == ["matmul", "fft", "matmul"]
    assert list(beside.values()) == ["convolution", "convolution", "matmul", "convolution"]
    with duckdb.connect() as db:
        row = db.execute(
            f"SELECT {kernel_classes.build_case('n', BUNDLED)} FROM (SELECT $name AS n)", {"name": names[0]}
        )
        assert row.fetchone() == ("matmul",), "where nobody says what else there is, there is no company"


def test_bundled_patterns_are_what_a_user_could_write() -> None:
    """The bundled file passes the checks that a user's file does."""
    assert [c.name for c in kernel_classes.load(kernel_classes.BUNDLED)] == [c.name for c in BUNDLED]


def test_order_is_kept() -> None:
    """The first pattern that matches decides, whichever class is listed first."""
    early = KernelClass("early", "Early", ("foobar",), (0,), "#000000", "#000000")
    late = KernelClass("late", "Late", ("foo", "bar"), (1, 2), "#000000", "#000000")
    for order in ([early, late], [late, early]):
        assert classify(["xFooBar", "foo", "bar", "baz"], order) == {
            "xFooBar": "early", "foo": "late", "bar": "late", "baz": "other"
        }  # fmt: skip


def test_case_sql_in_a_query() -> None:
    """It quotes its patterns, accepts any expression, and gives names without a match the class ``other``."""
    quoted = KernelClass("quoted", "Quoted", (r"it's \d+",), (0,), "#000000", "#000000")
    with duckdb.connect() as db:
        case = kernel_classes.build_case("k.name", [quoted])
        sql = f"SELECT {case} FROM (VALUES ('IT''S 12'), ('its'), (NULL)) k(name)"
        assert db.execute(sql).fetchall() == [("quoted",), ("other",), ("other",)]
    assert kernel_classes.build_case("name", []) == "'other'"


def test_nothing_to_classify() -> None:
    assert classify([], BUNDLED) == {}
    assert classify([""], BUNDLED) == {"": "other"}


def own(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "own.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_own_file_comes_first(tmp_path: Path) -> None:
    """It takes names from bundled classes, adds a class, retitles and recolors; the rest stays as it was."""
    path = own(
        tmp_path,
        r"""
        [[class]]
        name = "stencil"
        patterns = ['^compute_tendencies', 'my_special_gemm']

        [[class]]
        name = "copy"
        title = "Moving bytes"
        dark = "#123456"
        patterns = ['halo']

        [[class]]
        name = "other"
        patterns = ['^vectorAdd']
        """,
    )
    classes = kernel_classes.load(path)
    by_name = {c.name: c for c in classes}
    assert [c.name for c in classes] == [*(c.name for c in BUNDLED[:-1]), "stencil", "other"]
    assert (by_name["copy"].title, by_name["copy"].dark) == ("Moving bytes", "#123456")
    assert by_name["copy"].light == next(c.light for c in BUNDLED if c.name == "copy")
    assert by_name["stencil"].title == "Stencil"
    assert by_name["stencil"].light not in {c.light for c in BUNDLED}
    taken = {"compute_tendencies_x_278_gpu": "stencil", "my_special_gemm_64": "stencil", "set_halo_x": "copy"}
    assert classify([*taken, "vectorAdd(int)"], classes) == taken | {"vectorAdd(int)": "other"}
    unchanged = {name: wanted for name, wanted in EXPECTED.items() if not any(w in name for w in ("tenden", "halo"))}
    assert {n: c for n, c in classify(unchanged, classes).items() if c != EXPECTED[n]} == {
        name: "other" for name in EXPECTED if name.startswith("vectorAdd")
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[class]]\nname = 'mine'\npatterns = ['fine', '(unclosed']", ["'mine'", "'(unclosed'", "not an RE2 pattern"]),
        ("[[class]]\nname = 'mine'\npatterns = ['no(?=lookahead)']", ["'mine'", "'no(?=lookahead)'"]),
        ("[[class]]\nname = 'mine'\npatterns = ['.*']", ["'mine'", "'.*'", "every name"]),
        ("[[class]]\nname = 'mine'\nbeside = '(x'\npatterns = ['a']", ["'mine'", "'(x'", "not an RE2 pattern"]),
        ("[[class]]\nname = 'mine'\nbeside = 1\npatterns = ['a']", ["'mine'", "beside"]),
        ("[[class]]\nname = 'mine'\npatterns = ['a', 1]", ["'mine'", "not text"]),
        ("[[class]]\nname = 'mine'\npatterns = 'a'", ["'mine'", "patterns"]),
        ("[[class]]\nname = 'mine'\ncolor = 'red'", ["'mine'", "color"]),
        ("[[class]]\nname = 'mine'\nlight = 'red'", ["'mine'", "light"]),
        ("[[class]]\ntitle = 'Mine'", ["entry 1", "name"]),
        ("[[class]]\nname = 'Not So'", ["entry 1", "name"]),
        ("class = 1", ["[[class]]"]),
        ("class = [1]", ["entry 1"]),
        ("[classes]", ["[[class]]"]),
        ("[[class]", ["cannot be read"]),
    ],
)
def test_wrong_file_is_named(tmp_path: Path, text: str, words: list[str]) -> None:
    path = own(tmp_path, text)
    with pytest.raises(ConfigError) as error:
        kernel_classes.load(path)
    assert [word for word in (str(path), *words) if word not in error.value.message] == []
    assert error.value.hint


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        kernel_classes.load(tmp_path / "nowhere.toml")


def test_re2_says_why(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as error:
        kernel_classes.load(own(tmp_path, "[[class]]\nname = 'mine'\npatterns = ['(unclosed']"))
    assert "missing )" in error.value.detail


def test_ten_thousand_names_within_a_second() -> None:
    names = [f"{name} [{copy}]" for copy in range(100) for name in EXPECTED][:10_000]
    start = time.perf_counter()
    answers = classify(names, BUNDLED)
    assert len(answers) == 10_000
    assert time.perf_counter() - start < 1


@pytest.mark.parametrize("theme", get_args(kernel_classes.Theme))
def test_colors_stay_apart(theme: kernel_classes.Theme) -> None:
    """Any two differ by 10 in CIE Lab, neighbors in a stack by 30, for color-blind readers too."""
    colors = list(kernel_classes.get_colors(BUNDLED, theme).values())
    assert min(difference(a, b) for a, b in combinations(colors, 2)) > 10
    assert min(difference(a, b) for a, b in pairwise(colors)) > 30


def difference(a: str, b: str) -> float:
    """The least distance of two colors in CIE Lab over the kinds of color vision."""
    return min(math.dist(lab(a, kind), lab(b, kind)) for kind in VISION)


def lab(color: str, kind: str) -> tuple[float, float, float]:
    """CIE Lab of ``#RRGGBB`` as an eye of that kind sees it."""
    encoded = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in encoded]
    seen = [min(1.0, max(0.0, dot(row, linear))) for row in VISION[kind]]
    xyz = [dot(row, seen) for row in ((0.4339, 0.3763, 0.1899), (0.2126, 0.7152, 0.0722), (0.0177, 0.1095, 0.8728))]
    x, y, z = (v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def dot(row: Iterable[float], column: Iterable[float]) -> float:
    return sum(p * q for p, q in zip(row, column, strict=True))
