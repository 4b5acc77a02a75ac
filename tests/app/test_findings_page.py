"""The page "Findings": real reports, one without data, hostile names, and a folder of rules."""

from pathlib import Path

import pytest

from profiledb.library.library import Library
from tests.app.conftest import HOSTILE, Open, hostile, metrics, nothing, of, texts
from tests.support.page_reports import Publish


def test_what_starves_the_gpu_comes_first(page: Open, library: Library) -> None:
    at = page("findings", of(library, "dataloader_starved.nsys-rep"))
    said = texts(at)
    assert "next_batch" in said
    assert "PyTorch, eager, training" in [one.value for one in at.caption]
    assert said.index("Data loading") < said.index("GPU idle"), "that it is idle stands under what keeps it idle"
    assert metrics(at)["Findings"] == "1"
    assert any("Evidence" in expander.label for expander in at.expander)


@pytest.mark.slow("judges three reports by every rule")
def test_the_mended_half_has_no_high_finding(page: Open, library: Library) -> None:
    for name in ("idle_fixed", "streams_overlapped", "launches_graph"):
        said = texts(page("findings", of(library, f"{name}.nsys-rep")))
        assert ":red-badge" not in said, name


@pytest.mark.slow("judges a report by every rule")
def test_a_compute_report_is_judged_by_its_own_time(page: Open, library: Library) -> None:
    said = texts(page("findings", of(library, "attention.ncu-rep")))
    assert "Below the roof" in said
    assert "GPU idle" not in said


def test_a_report_with_nothing_says_what_to_capture(page: Open, small_report: Publish) -> None:
    at = page("findings", small_report(nothing))
    assert metrics(at)["Findings"] == "0"
    assert "This report lacks the data that the rules need." in texts(at)
    assert any(code.value.startswith("warpdeck profile --with ") for code in at.code)


def test_hostile_names_stay_text(page: Open, small_report: Publish) -> None:
    at = page("findings", small_report(hostile))
    assert not at.exception
    shown = texts(at)
    assert HOSTILE not in shown.replace(f"`{HOSTILE}`", "")


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
