"""What saves the tests time: sweeps leave no case out for good, and what is kept is what was asked for."""

from pathlib import Path

import pytest

from tests.support import kept, sweep


@pytest.mark.parametrize("count", [1, 5, 8, 51])
@pytest.mark.parametrize("parts", [3, 8])
def test_every_case_has_its_turn(monkeypatch: pytest.MonkeyPatch, count: int, parts: int) -> None:
    seen: list[int] = []
    for day in range(738_000, 738_000 + max(count, parts)):
        monkeypatch.setenv(sweep.VARIABLE, str(day))
        now = sweep.part(range(count), 4, parts)
        assert 1 <= len(now) <= -(-count // parts)
        assert now == sweep.part(range(count), 4, parts), "the same for every process"
        seen += now
    assert set(seen) == set(range(count))


def test_a_whole_run_takes_every_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(sweep.VARIABLE, "all")
    assert sweep.part("abc") == ["a", "b", "c"]
    assert sweep.part([]) == []


def test_the_same_files_are_taken_in_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(kept.VARIABLE, str(tmp_path))
    filled: list[str] = []

    def fill(groups: dict[Path, list[Path]]) -> None:
        for folder, files in groups.items():
            (folder / "made").write_text(files[0].read_text())
            filled.append(files[0].read_text())

    def ask(*names: str) -> list[str]:
        with kept.folders([[tmp_path / name] for name in names], fill) as folders:
            return [(folder / "made").read_text() for folder in folders]

    for name, text in (("a.csv", "1"), ("b.csv", "2")):
        (tmp_path / name).write_text(text)
    assert ask("a.csv") == ["1"]
    assert ask("b.csv", "a.csv") == ["2", "1"], "in the order that they were asked for"
    assert filled == ["1", "2"]
    (tmp_path / "a.csv").write_text("3")
    assert ask("a.csv") == ["3"], "another content"
    monkeypatch.setenv("WARPDECK_NSYS", "off")
    assert ask("a.csv") == ["3"]
    assert filled == ["1", "2", "3", "3"], "another setting"


def test_a_folder_that_was_not_finished_is_filled_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(kept.VARIABLE, str(tmp_path))
    (tmp_path / "a.csv").write_text("1")

    def stop(groups: dict[Path, list[Path]]) -> None:
        (next(iter(groups)) / "half").touch()
        raise InterruptedError

    with pytest.raises(InterruptedError), kept.folders([[tmp_path / "a.csv"]], stop):
        pass
    with kept.folders([[tmp_path / "a.csv"]], lambda _: None) as (folder,):
        assert list(folder.iterdir()) == []
