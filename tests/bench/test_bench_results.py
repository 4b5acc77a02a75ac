"""The page with the results of the benchmarks."""

from pathlib import Path

from bench import results

PARTS = ("about", "comparisons", "queries", "findings", "pages", "timeline", "load")


def test_what_no_run_measures_stays_on_the_page(tmp_path: Path) -> None:
    path = tmp_path / "RESULTS.md"
    results.write_page(path, "first", **{part: [f"{part} 1"] for part in PARTS})
    assert "load 1" in path.read_text()
    by_hand = "## Timeline by hand\n\nmeasured once\n\n### More\n\nof it"
    more = path.read_text().replace("## Load\n", f"{by_hand}\n\n## Load\n")
    path.write_text(f"{more}\n## A team\n\nmeasured by hand\n")
    results.write_page(path, "second", **{part: [f"{part} 2"] for part in PARTS})
    text = path.read_text()
    assert "load 2" in text
    assert "load 1" not in text
    assert f"timeline 2\n\n{by_hand}\n\n## Load\n" in text
    assert text.endswith("load 2\n\n## A team\n\nmeasured by hand\n")
    results.write_page(path, "second", **{part: [f"{part} 2"] for part in PARTS})
    assert path.read_text() == text
