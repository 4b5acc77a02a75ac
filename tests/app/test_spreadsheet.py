"""CSV for spreadsheets: texts that look like formulas stay text, and everything else stays as it was."""

import csv
import io

import pandas as pd
import pytest

from profiledb import spreadsheet

FORMULAS = (
    *(
        "=1+1",
        "+cmd|' /C calc'!A0",
        "-2+3",
        "@SUM(1)",
        '=HYPERLINK("http://evil.example","x")',
        "＝1+1",
        "＋1+1",
        "－1+a",
    ),
    *(
        "＠x",
        "\t=1",
        "\r=1",
        "\n=1",
        "\r\n @x",
        " =1",
        "\xa0=1",
        "\ufeff=1",
        "\u200b=1",
        "\x00=1",
        "\x0b=1",
        "\tx",
        "\rx",
    ),
)
HIDDEN = {"a;=1+1": "a;'=1+1", "a\n=1": "a\n'=1", "a\t@x": "a\t'@x", 'a";=1': "a\";'=1", "a; -x": "a; '-x"}
PLAIN = (
    "ok",
    "void f<int, -1>(a = b)",
    "a-b",
    "a@b",
    "-5",
    "+5.25",
    "-1e-9",
    ".5",
    "",
    " ",
    "a\nb",
    "–",
    "3 - 2",
    "_=x",
)


def cells(frame: pd.DataFrame) -> list[list[str]]:
    return list(csv.reader(io.StringIO(spreadsheet.format_csv(frame), newline="")))


@pytest.mark.parametrize("dtype", ["object", "str", "category"])
def test_formulas_become_texts(dtype: str) -> None:
    frame = pd.DataFrame({"name": pd.Series(FORMULAS, dtype=dtype), "x": -1.5})
    for was, (name, number) in zip(FORMULAS, cells(frame)[1:], strict=True):
        assert name == "'" + was.replace("\r\n", "\n").replace("\r", "\n")
        assert number == "-1.5"


@pytest.mark.parametrize(("was", "safe"), HIDDEN.items())
def test_formulas_behind_another_separator_become_texts(was: str, safe: str) -> None:
    assert cells(pd.DataFrame({"name": [was]}))[1] == [safe]


@pytest.mark.parametrize("text", PLAIN)
def test_other_texts_stay(text: str) -> None:
    assert cells(pd.DataFrame({"name": [text], "x": [1]}))[1] == [text, "1"]


def test_numbers_times_and_what_is_missing_stay() -> None:
    frame = pd.DataFrame(
        {
            "ns": pd.array([1, None, -3], dtype="Int64"),
            "x": [-0.5, float("nan"), 1e300],
            "t": pd.to_datetime(pd.Series(["2026-01-02", None, "2026-01-02"])),
            "name": ["a", None, "-"],
            "mixed": [-1, "-a", None],
        }
    )
    assert spreadsheet.format_csv(frame) == (
        "ns,x,t,name,mixed\n1,-0.5,2026-01-02,a,-1\n,,,,'-a\n-3,1e+300,2026-01-02,'-,\n"
    )


def test_headings_are_texts_too() -> None:
    assert spreadsheet.format_csv(pd.DataFrame({"=1": [1]})) == "'=1\n1\n"
