"""The page "Findings", the head of the Summary, and what Compare says of findings: real reports and hostile ones."""

from pathlib import Path

import pytest

from profiledb.library.library import Library
from tests.app.test_summary_page import HOSTILE, Open, Publish, hostile, nothing, of, page, publish, texts

__all__ = ["page", "publish"]  # fixtures


def figures(at: object) -> dict[str, str]:
    return {one.label: one.value.replace("\\", "") for one in at.metric}  # type: ignore[attr-defined]


def test_what_starves_the_gpu_comes_first(page: Open, library: Library) -> None:
    at = page("findings", of(library, "dataloader_starved.nsys-rep"))
    said = texts(at)
    assert "next_batch" in said
    assert "PyTorch, eager, training" in [one.value for one in at.caption]
    assert said.index("Data loading") < said.index("GPU idle"), "that it is idle stands under what keeps it idle"
    assert figures(at)["Findings"] == "1"
    assert any("Evidence" in expander.label for expander in at.expander)


def test_the_mended_half_has_no_high_finding(page: Open, library: Library) -> None:
    for name in ("idle_fixed", "streams_overlapped", "launches_graph"):
        said = texts(page("findings", of(library, f"{name}.nsys-rep")))
        assert ":red-badge" not in said, name


def test_a_compute_report_is_judged_by_its_own_time(page: Open, library: Library) -> None:
    said = texts(page("findings", of(library, "attention.ncu-rep")))
    assert "Below the roof" in said
    assert "GPU idle" not in said


def test_a_report_with_nothing_says_what_to_capture(page: Open, publish: Publish) -> None:
    at = page("findings", publish(nothing))
    assert figures(at)["Findings"] == "0"
    assert "This report lacks the data that the rules need." in texts(at)
    assert any(code.value.startswith("warpdeck profile --with ") for code in at.code)


def test_hostile_names_stay_text(page: Open, publish: Publish) -> None:
    at = page("findings", publish(hostile))
    assert not at.exception
    shown = texts(at)
    assert HOSTILE not in shown.replace(f"`{HOSTILE}`", "")


def test_the_summary_begins_with_findings(page: Open, library: Library) -> None:
    at = page("summary", of(library, "idle_host_bound.nsys-rep"))
    assert any("read_loss_item" in element.value and "Saves about" in element.value for element in at.markdown)
    clear = page("summary", of(library, "launches_graph.nsys-rep"))
    assert not any("Saves " in element.value for element in clear.markdown)


def test_the_summary_covers_what_its_findings_judge(page: Open, library: Library) -> None:
    """One of 5 steps is a warm-up: the GPU is idle for 33.1 % of the other four, and for 33.7 % of all."""
    at = page("summary", of(library, "transformer_steps.nsys-rep"))
    assert "Judged: 4 steps (45.9 ms)." in texts(at)
    assert "66.9 % busy, 33.1 % idle." in texts(at)
    at.toggle(key="findings-startup").set_value(True).run()
    assert not at.exception
    assert "66.3 % busy, 33.7 % idle." in texts(at)


@pytest.mark.slow("judges two reports by every rule")
def test_compare_says_which_findings_are_gone(page: Open, library: Library) -> None:
    starved, mended = (of(library, f"dataloader_{name}.nsys-rep") for name in ("starved", "fixed"))
    at = page("compare", starved, other=mended)
    rows = next(table.value for table in at.dataframe if "said" in table.value)
    assert set(rows.loc[rows["change"] == "Gone in B", "title"]) >= {"GPU idle", "Data loading"}


def test_a_folder_of_rules_is_judged(
    page: Open, library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "thresholds.toml").write_text("[gpu_idle]\nthreshold = 99\n")
    monkeypatch.setenv("WARPDECK_RULES", str(tmp_path / "rules"))
    at = page("findings", of(library, "dataloader_starved.nsys-rep"))
    cards = [element.value for element in at.markdown if "-badge[" in element.value]
    assert not any("GPU idle" in card for card in cards)
    (tmp_path / "rules" / "broken.sql").write_text("DROP TABLE kernel;")
    assert "broken" in "".join(
        error.value for error in page("findings", of(library, "dataloader_starved.nsys-rep")).error
    )
