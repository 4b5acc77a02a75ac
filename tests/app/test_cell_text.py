"""Table cells show each number in a fitting unit, and the table sorts by the numbers."""

from types import SimpleNamespace

import pandas as pd

from app.ui import name_card, table_columns, tables


def words(frame: pd.DataFrame, *columns: table_columns.Col) -> dict[str, list[str]]:
    """Return the visible text of the cells, except in columns that Streamlit formats itself."""
    styler, _ = tables.build_arguments(frame, columns)
    styler._compute()
    body = styler._translate(False, False)["body"]
    named = [[cell["display_value"] for cell in row if cell["type"] == "td"] for row in body]
    return {column.name: [row[place] for row in named] for place, column in enumerate(columns)}


def test_every_cell_has_the_unit_that_fits_it() -> None:
    frame = pd.DataFrame(
        {
            "total_ns": pd.array([1_044_717_600, 73_030, 12, 0, None], dtype="Int64"),
            "bytes": [2.5e9, 1e3, 12, 0, None],
            "share_pct": [99.96, 0.04, -0.04, 0, None],
            "rate": [3.29e7, 2.02417e12, 0, 1, None],
            "flops": [9.45e14, 1.5e9, 0, 1, None],
            "gbps": [21590.5, 3.14159, -0.0, 0.001, None],
            "waves": [3.0, 2.0, 1.0, 12345.0, None],
            "name": ["a", "b\u202e", "", None, "c"],
        }
    )
    assert words(
        frame,
        table_columns.Col("total_ns", "Total", kind="duration"),
        table_columns.Col("bytes", "Bytes", kind="bytes"),
        table_columns.Col("share_pct", "Share", kind="percent"),
        table_columns.Col("rate", "Rate", kind="rate"),
        table_columns.Col("flops", "Work", kind="flops"),
        table_columns.Col("gbps", "Bandwidth", unit="GB/s", kind="number"),
        table_columns.Col("waves", "Waves", kind="number"),
        table_columns.Col("name", "Name"),
    ) == {
        "total_ns": ["1.04 s", "73.0 µs", "12 ns", "0 ns", "–"],
        "bytes": ["2.50 GB", "1.00 KB", "12 B", "0 B", "–"],
        "share_pct": ["100.0", "<0.1", "0.0", "0.0", "–"],
        "rate": ["32.9 MB/s", "2.02 TB/s", "0 B/s", "1 B/s", "–"],
        "flops": ["945 TFLOP/s", "1.50 GFLOP/s", "0 FLOP/s", "1 FLOP/s", "–"],
        "gbps": ["21,590", "3.14", "0", "0.00100", "–"],
        "waves": ["3", "2", "1", "12,345", "–"],
        "name": ["a", "b ", "", "–", "c"],
    }


def test_cells_sort_as_the_numbers_that_they_are() -> None:
    frame = pd.DataFrame({"total_ns": [1_044_717_600, 73_030, 12]}, index=[7, 7, 9])
    styler, config = tables.build_arguments(frame, [table_columns.Col("total_ns", "Total", kind="duration")])
    assert styler.data["total_ns"].tolist() == [1_044_717_600, 73_030, 12]
    assert config["total_ns"]["label"] == "Total"
    assert config["total_ns"]["type_config"]["format"] is None  # a format of the column's would replace the words


def test_moments_share_a_unit_that_tells_them_apart() -> None:
    columns = [table_columns.Col("start_ns", "Start", kind="moment")]
    styler, config = tables.build_arguments(pd.DataFrame({"start_ns": [1_000, 4_560_001_000, None]}), columns)
    assert config["start_ns"]["label"] == "Start (ms)"
    assert styler.data["start_ns"].tolist()[:2] == [0.001, 4560.001]
    assert tables.choose_moment_unit(pd.Series([900_000])) == ("µs", 1e3)
    assert tables.choose_moment_unit(pd.Series([], dtype=float)) == ("µs", 1e3)


def test_a_long_table_has_one_unit_a_column() -> None:
    """Formatting each of many cells takes seconds, and pandas refuses a quarter of a million of them."""
    rows = tables.MOST_WRITTEN
    frame = pd.DataFrame(
        {
            "total_ns": range(1_000_000, 1_000_000 * (rows + 1), 1_000_000),
            "share_pct": 12.345,
            "flops": 2e9,
            "name": "a",
        }
    )
    columns = [
        table_columns.Col("total_ns", "Total", kind="duration"), table_columns.Col("share_pct", "Share",
        kind="percent"),
        table_columns.Col("flops", "Work", kind="flops"), table_columns.Col("name", "Name"),
    ]  # fmt: skip
    shown, config = tables.build_arguments(frame, columns)
    assert isinstance(shown, pd.DataFrame)
    assert (config["total_ns"]["label"], config["flops"]["label"]) == ("Total (s)", "Work (GFLOP/s)")
    assert shown["total_ns"].iloc[-1] == rows / 1000
    assert shown["flops"].iloc[0] == 2
    assert config["share_pct"]["type_config"]["format"] == "%.1f"
    few, _ = tables.build_arguments(frame.head(5), columns)
    assert not isinstance(few, pd.DataFrame)


def test_long_names_are_cut_in_the_middle_and_kept_whole_below() -> None:
    name = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT_of_a_kernel_with_a_long_name_backward"
    column = table_columns.Col("name", "Kernel", width=200)
    (cell,) = words(pd.DataFrame({"name": [name]}), column)["name"]
    assert cell.startswith("nvjet_sm90")
    assert cell.endswith("backward")
    assert len(cell) == int((200 - 18) / 7.5)
    styler, _ = tables.build_arguments(pd.DataFrame({"name": [name]}), [column])
    assert styler.data["name"].tolist() == [name], "what is copied from the cell"
    assert words(pd.DataFrame({"name": [name]}), table_columns.Col("name", "Kernel"))["name"] == [name]
    verdict = words(
        pd.DataFrame({"name": ["not significant, as it happens"]}), table_columns.Col("name", "Verdict", width=80)
    )
    assert verdict["name"] == ["not significant, as it happens"], "words of ours are read from the front"


def test_only_the_column_that_leads_somewhere_selects_its_row() -> None:
    def picked(cells: list[tuple[int, str]], rows: list[int], leading: list[str]) -> int | None:
        return tables._read_chosen_row(SimpleNamespace(cells=cells, rows=rows), 3, leading)

    assert picked([(1, "name")], [], ["name"]) == 1
    assert picked([(1, "total_ns")], [], ["name"]) is None, "a cell that somebody copies"
    assert picked([(1, "total_ns")], [], []) == 1
    assert picked([], [2], []) == 2
    assert picked([(7, "name")], [], ["name"]) is None, "a click on a table that has fewer rows by now"


def test_changes_carry_their_sign() -> None:
    frame = pd.DataFrame({"change_ns": [1.5e6, -2e3, 0, None], "points": [12.34, -0.04, 0.04, None]})
    assert words(
        frame,
        table_columns.Col("change_ns", "Change", kind="duration", signed=True),
        table_columns.Col("points", "Change", kind="percent", signed=True),
    ) == {"change_ns": ["+1.50 ms", "−2.00 µs", "0 ns", "–"], "points": ["+12.3", "0.0", "0.0", "–"]}


def test_whole_names_are_told_apart_by_their_time_where_short_ones_are_shared() -> None:
    frame = pd.DataFrame({"name": ["a", "b", "b", "c\u202e"], "demangled": ["void a()", "b<1>()", "b<2>()", None]})
    assert name_card.map_names(frame) == {"a": "void a()"}
    assert name_card.map_names(frame.assign(total_ns=[1, 2, 3, 4])) == {
        "a": "void a()",
        "b\n2": "b<1>()",
        "b\n3": "b<2>()",
    }
    assert name_card.map_names(frame[["name"]]) == {}
    long = frame.assign(demangled="x" * name_card.MOST_CHARACTERS)
    assert name_card.map_names(long) == {}
