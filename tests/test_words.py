"""Words: American spelling everywhere, and "per step" in what users read."""

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.support.project_files import list_tracked_files

ROOT = Path(__file__).parents[1]
SUFFIXES = {".css", ".cu", ".js", ".md", ".py", ".sh", ".sql", ".toml", ".yml"}
NOT_OURS = ("sample_reports/oracle/", "tests/data/", "tests/test_words.py")
"""What other programs wrote; and this file, which has the words."""
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
BRITISH = re.compile(
    r".*(?:colour|behaviour|neighbour|favour|honour|labour|flavour|labell|modell|travell|signall|cancelled|cancelling"
    r"|grey|licence|catalogue|dialogue|judgement|artefact).*"
    r"|(?:un)?learnt|fulfil|centre[ds]?|centring|whilst|programmes?|(?:to|after|back|for|up|down)wards"
    r"|.+(?:is(?:e[ds]?|ers?|ing|ations?|able)|lys(?:e[dr]?|ing))",
    re.IGNORECASE,
)
FINE = re.compile(
    r"(?:ra|pra|r|ar|no|deno|d|ad?v|re?v|dev|superv|improv|prom|prem|compr|comprom|surpr|enterpr|prec|conc|exerc|expert|.*w)"
    r"is(?:e[ds]?|ers?|ing)|.*[dv]isable",
    re.IGNORECASE,
)
"""Words that end so everywhere: raise, precise, elementwise, disable."""
EXCEPTIONS = re.compile(r"(?:gpu|memory)_utilisation_pct|`synchronisation`|\bmadvise\b|\bCancelledError\b")
"""Columns of NAME.nvml.csv, which programs have written already; a value of earlier versions in the changelog; an
error of Python's."""
PER = re.compile(
    r"^(?:an? (?:step|pass|launch|instance|second)|.* an? (?:step|pass|launch|instance|second))$", re.IGNORECASE
)
"""A heading such as "Time a step" or "A pass"."""

_DEEDS = frozenset({"told", "said", "kept", "found"})


def header(path: Path) -> Iterator[tuple[int, str]]:
    """The comment that an SQL file begins with, which people read as the description of an analysis."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.startswith("--"):
            return
        yield number, line


def british(text: str) -> list[str]:
    """The words in British spelling, parts of names included; names that must stay are none."""
    words = WORD.findall(EXCEPTIONS.sub("", text))
    return [word for word in words if is_british(word)]


@cache
def is_british(word: str) -> bool:
    return bool(BRITISH.fullmatch(word)) and not FINE.fullmatch(word)


def own() -> list[Path]:
    """The files that people of the project write: code, queries, documents, scripts."""
    return [
        path
        for path in list_tracked_files()
        if not path.relative_to(ROOT).as_posix().startswith(NOT_OURS)
        and (path.suffix in SUFFIXES or path.name == "Dockerfile")
    ]


def test_spelling_is_american() -> None:
    """One spelling everywhere, in comments and names too: that of CUDA and PyTorch."""
    paths = own()
    assert len(paths) > 900
    found = [
        f"{path.relative_to(ROOT)}:{number} {word}"
        for path in paths
        for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        for word in british(text)
    ]
    assert not found, "\n".join(found)


def test_headings_say_per_step() -> None:
    """Headings of columns say "per step", never "a step" or "a pass"."""
    heads = [
        (f"{path.relative_to(ROOT)}:{number}", match[1].strip())
        for path in sorted((ROOT / "profiledb").rglob("*.sql"))
        for number, text in header(path)
        if (match := re.match(r"-- column: [^=|]+ = ([^|]+)\|", text))
    ]
    assert len(heads) > 100
    assert not [one for one in heads if PER.match(one[1])]


def test_questions_of_the_tour_end_as_such() -> None:
    """Each stop of the tour asks a question in the trade's words."""
    stops = tomllib.loads((ROOT / "app" / "tour.toml").read_text(encoding="utf-8"))["stop"]
    assert all(stop["question"].endswith("?") for stop in stops)
    assert not [stop["see"] for stop in stops if re.search(r"\bthe host\b|\d an? (?:step|sample)\b", stop["see"])]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Colour of a grey box", ["Colour", "grey"]),
        ("gpu_utilisation_pct", []),
        ("The utilisation, analysed", ["utilisation", "analysed"]),
        ("Analyses of color, synchronization", []),
        ("def test_coloursStayGREY(normalise)", ["colours", "GREY", "normalise"]),
        ("moved towards the centre, then initialised", ["towards", "centre", "initialised"]),
        ("raises otherwise, precise, elementwise, cudaMemAdvise, disabled, license", []),
    ],
)
def test_what_counts_as_british(text: str, words: list[str]) -> None:
    """The list finds British words and nothing else."""
    assert british(text) == words


@pytest.mark.parametrize(("title", "bad"), [("A pass", True), ("GPU time a step", True), ("Time per step", False)])
def test_what_counts_as_a_heading_to_mend(title: str, bad: bool) -> None:
    """It finds "a step" alone or at the end of a heading."""
    assert bool(PER.match(title)) is bad


@pytest.mark.parametrize("package", ["app", "bench", "ingest", "profiledb", "warpdeck", "workloads"])
def test_variables_say_what_they_hold(package: str) -> None:
    """No variable or parameter has the name of what somebody did: told, said, kept, found."""
    named = {
        (path.relative_to(ROOT).as_posix(), node.lineno)
        for path in list_tracked_files()
        if path.suffix == ".py" and path.is_relative_to(ROOT / package)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if (isinstance(node, ast.Name) and node.id in _DEEDS) or (isinstance(node, ast.arg) and node.arg in _DEEDS)
    }
    assert not named
