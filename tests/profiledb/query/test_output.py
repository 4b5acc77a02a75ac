"""The CSV of the command line, byte by byte against Python's csv module on the rows of the analysis."""

import csv
import io
import math
import random
import struct
from collections.abc import Sequence
from typing import Any

import pandas as pd
import pytest

from profiledb import spreadsheet
from profiledb.errors import AnalysisError, NotCapturedError
from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.query import analysis, output, views
from profiledb.query import header as asked
from tests.profiledb.library.test_library import publish
from tests.support.answers import Answers, fitting, joined
from tests.support.every_report import slow_but

TEXTS = (
    *("", " ", "NULL", "null", "nan", " before", "after ", "#first", "a,b", ",", '"', '""', 'a"b', 'a"b,c', "'", "a;b"),
    *(
        "a\nb",
        "\n",
        "a\r",
        "\r\n",
        "\t",
        "\\",
        "\\N",
        "\x00",
        "é",
        "漢字, ",
        "😀",
        "{}",
        "%s",
        "$by",
        "--",
        "=1+1",
        "@x",
        "+1",
        "＝1",
        "x" * 70_000,
    ),
)
NUMBERS = (
    *(0.0, -0.0, 0.04, -0.04, 0.05, 0.15, 0.25, 0.35, 0.5, 1.5, 2.5, 0.125, 0.375, 1.005, 2.675, -1234.5678),
    *(
        1e-5,
        1e-4,
        1e15,
        1e16,
        1e22,
        123456789012345680.0,
        2.0**53,
        2.0**63,
        1e35,
        5e-324,
        math.inf,
        -math.inf,
        math.nan,
    ),
)
LARGE = (0, 1 << 60)
MORE = pytest.mark.slow("6,000 random numbers in eleven columns")
SIZES = pytest.mark.parametrize(
    ("large", "several"),
    [
        (LARGE[0], 100),
        (LARGE[1], 100),
        pytest.param(LARGE[0], 2000, marks=MORE),
        pytest.param(LARGE[1], 2000, marks=MORE),
    ],
    ids=["by pyarrow", "by rows", "many by pyarrow", "many by rows"],
)
"""The writer, and how many random numbers of each kind."""


def by_python(frame: pd.DataFrame, columns: Sequence[asked.Column]) -> bytes:
    """The rows as csv.writer formats them: numbers in the format of their column, missing values empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(frame.columns)
    for row in frame.itertuples(index=False):
        writer.writerow(
            "" if pd.isna(value) else format(value, column.format) if column.format else plain(value)
            for value, column in zip(row, columns, strict=True)
        )
    return text.getvalue().encode()


def plain(value: object) -> object:
    return spreadsheet.defuse_text(value) if isinstance(value, str) else value


def written(library: Library, report: Manifest, name: str, **params: str) -> bytes:
    out = io.BytesIO()
    output.write_csv(library, report, name, params, out)
    return out.getvalue()


@pytest.mark.parametrize(
    "name",
    slow_but(
        ["transformer_training.ncu-rep"],
        ["transformer_training.nsys-rep", "transformer_training.ncu-rep"],
        "a hundred analyses, with every choice of a parameter",
    ),
)
def test_every_analysis_as_csv(
    every_report: Library, answers: Answers, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the reports with the most tables, with both writers in turn, and with every choice of a parameter.

    Reports differ only in rows; the tests below have the values that are hard to write.
    """
    report, answered = every_report.find(name), 0
    for number, asking in enumerate(fitting(every_report, name)):
        monkeypatch.setattr(output, "LARGE", LARGE[number % 2])
        try:
            frame = answers.frame(name, asking.name)
        except NotCapturedError:
            with pytest.raises(NotCapturedError):
                written(every_report, report, asking.name, **joined(asking))
            continue
        answered += 1
        assert written(every_report, report, asking.name, **joined(asking)) == by_python(frame, asking.columns)
        for params in ({p.name: choice} for p in asking.params for choice in p.choices if choice != p.default):
            chosen = analysis.run(every_report, report.id, asking.name, params | joined(asking))
            assert list(chosen.columns) == [column.name for column in asking.columns], (asking.name, params)
    assert answered > 10


def made(monkeypatch: pytest.MonkeyPatch, query: str, columns: dict[str, str], param: str = "") -> asked.Analysis:
    """Makes a query the only analysis; ``columns`` are names with their formats."""
    header = "".join(f"-- column: {name} | text | {spec} | x\n" for name, spec in columns.items())
    parsed = asked.parse("made", f"-- title: x\n{param}{header}{query};\n")
    monkeypatch.setattr(asked, "list_analyses", lambda: {"made": parsed})
    return parsed


@SIZES
def test_awkward_texts_and_numbers(
    empty_library: Library, large: int, several: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(1)
    numbers = [*NUMBERS, *(struct.unpack("d", chance.randbytes(8))[0] for _ in range(several))]
    numbers += [chance.randrange(10**9) / 8 for _ in range(several)]
    numbers += [10 ** chance.uniform(-8, 20) for _ in range(several)]
    numbers = [x for x in numbers if not 1e36 <= abs(x) < math.inf]  # where the last digits are not those of Python
    rows: list[tuple[Any, ...]] = [
        (i, TEXTS[i % len(TEXTS)], None if i % 7 == 0 else TEXTS[i * 5 % len(TEXTS)], i % 3 == 0, x)
        for i, x in enumerate(numbers)
    ]
    report = publish(empty_library, "aaaa000000000001")
    monkeypatch.setattr(output, "LARGE", large)
    with empty_library.cursor(report.id, views=views.list_all()) as cursor:
        cursor.execute("CREATE TABLE memory.awkward (i BIGINT, a VARCHAR, b VARCHAR, c BOOLEAN, x DOUBLE)")
        frame = pd.DataFrame(rows, columns=["i", "a", "b", "c", "x"])
        cursor.execute("INSERT INTO awkward SELECT * FROM frame")
    columns = {"i": "", "a": "", 'odd "name", too': "", "yes": ".1f", "c": "", "x": ""}
    columns |= {f"x{n}": f".{n}f" for n in range(4)}
    query = "SELECT i, a, b, i, nullif(c, i % 5 = 0), x, x, x, x, x FROM awkward ORDER BY i DESC -- the end"
    found = made(monkeypatch, _named(query, columns), columns)
    result = analysis.run(empty_library, report.id, "made")
    assert written(empty_library, report, "made") == by_python(result, found.columns)
    assert len(frame) == len(result)
    found = made(monkeypatch, "SELECT a FROM awkward ORDER BY i\n", {"a": ""})  # an empty line would be no row
    assert written(empty_library, report, "made") == by_python(
        analysis.run(empty_library, report.id, "made"), found.columns
    )


def _named(query: str, columns: dict[str, str]) -> str:
    quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
    return f"WITH made({quoted}) AS ({query}\n) SELECT * FROM made ORDER BY i DESC"


@pytest.mark.parametrize("value", ["plain", "it's", "'; SELECT 1; --", "a\nb", "$given", ""])
def test_parameters_arrive_as_they_are(empty_library: Library, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    report = publish(empty_library, "aaaa000000000001")
    made(monkeypatch, "SELECT $limit AS text, 1 AS one", {"text": "", "one": ""}, "-- param: limit =  any text\n")
    rows = list(csv.reader(io.StringIO(written(empty_library, report, "made", limit=value).decode(), newline="")))
    assert rows == [["text", "one"], [spreadsheet.defuse_text(value), "1"]]


def test_nothing_is_written_before_an_error(empty_library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    report = publish(empty_library, "aaaa000000000001")
    made(monkeypatch, "SELECT $x::INTEGER AS x", {"x": ""}, "-- param: x = 1 a number\n")
    out = io.BytesIO()
    with pytest.raises(AnalysisError, match="wrong type"):
        output.write_csv(empty_library, report, "made", {"x": "wide"}, out)
    assert out.getvalue() == b""


class Closed(io.BytesIO):
    """A pipe whose reader has gone."""

    def write(self, _: object, /) -> int:
        raise BrokenPipeError


def test_a_reader_that_has_gone_is_told_to_the_caller(empty_library: Library) -> None:
    report = publish(empty_library, "aaaa000000000001")
    with pytest.raises(BrokenPipeError):
        output.write_csv(empty_library, report, "class_split", {}, Closed())
