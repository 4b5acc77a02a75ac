"""Words that users see: American spelling, and "per step" in headings."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BRITISH = re.compile(
    r"\b\w*(?:colour|behaviour|neighbour|favour|honour|labelled|labelling|cancelled|modelled|grey|centre|licence"
    r"|catalogue|synchronis|recognis|normalis|utilis|optimis|organis|summaris|visualis|initialis|serialis|minimis"
    r"|maximis|categoris|parallelis|specialis|vectoris|analys(?:e|ed|ing)\b)\w*",
    re.IGNORECASE,
)
EXCEPTIONS = {"gpu_utilisation_pct", "memory_utilisation_pct"}
"""Columns of NAME.nvml.csv, which programs have written already."""
PER = re.compile(
    r"^(?:an? (?:step|pass|launch|instance|second)|.* an? (?:step|pass|launch|instance|second))$", re.IGNORECASE
)
"""A heading such as "Time a step" or "A pass"."""


def literals(path: Path) -> Iterator[tuple[int, str]]:
    """The strings of a module with their lines; no comments, no docstrings, nor texts below a constant."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    aside = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in aside:
            yield node.lineno, node.value


def header(path: Path) -> Iterator[tuple[int, str]]:
    """The comment that an SQL file begins with, which people read as the description of an analysis."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.startswith("--"):
            return
        yield number, line


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a text."""
    yield from enumerate(path.read_text(encoding="utf-8").splitlines(), 1)


def seen() -> Iterator[tuple[str, str]]:
    """Where a text stands, and the text."""
    reading = [
        (literals, (path for room in ("app", "profiledb", "ingest") for path in (ROOT / room).rglob("*.py"))),
        (header, (ROOT / "profiledb" / "analyses").rglob("*.sql")),
        (lines, [ROOT / "README.md", ROOT / "SECURITY.md", *(ROOT / "docs").glob("*.md"), ROOT / "app" / "tour.toml"]),
    ]
    for read, paths in reading:
        for path in sorted(paths):
            for number, text in read(path):
                yield f"{path.relative_to(ROOT)}:{number}", text


def british(text: str) -> list[str]:
    """The words in British spelling; names of columns that stay are none."""
    return [word for match in BRITISH.finditer(text) if (word := match[0]) not in EXCEPTIONS]


def test_spelling_is_american() -> None:
    """One spelling in all that users read, which is that of CUDA's and PyTorch's own names."""
    found = [f"{place} {word}" for place, text in seen() for word in british(text)]
    assert not found, found


def test_headings_say_per_step() -> None:
    """Headings of columns say "per step", never "a step" or "a pass"."""
    heads = [
        (place, match[1].strip())
        for place, text in seen()
        if (match := re.match(r"-- column: [^=|]+ = ([^|]+)\|", text))
    ]
    assert len(heads) > 100
    assert not [one for one in heads if PER.match(one[1])]


def test_questions_of_the_tour_end_as_such() -> None:
    """Each stop of the tour asks something, in words of the field."""
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
    ],
)
def test_what_counts_as_british(text: str, words: list[str]) -> None:
    """The list finds what it is for, and nothing else."""
    assert british(text) == words


@pytest.mark.parametrize(("title", "bad"), [("A pass", True), ("GPU time a step", True), ("Time per step", False)])
def test_what_counts_as_a_heading_to_mend(title: str, bad: bool) -> None:
    """ "A step" alone or at the end of a heading is found."""
    assert bool(PER.match(title)) is bad
