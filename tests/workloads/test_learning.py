"""Learning from measured tasks: exact on made-up costs, honest about unknown ones, safe to load."""

import itertools
import pickle
import re
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

pytest.importorskip("skops")
pytest.importorskip("sklearn")

from workloads.__main__ import main
from workloads.errors import WorkloadError
from workloads.learning import checks, costs, validation
from workloads.learning.plain import LARGE
from workloads.learning.table import Row, read

SIZES = (16, 32, 64, 128, 256, 512, 1024, 2048)
PER_CALL = {"cpu": 2e-6, "gpu": 1e-4, "gpu_compute": 2e-5}
PER_BYTE = {"cpu": 1e-10, "gpu": 5e-11, "gpu_compute": 1e-12}
PER_OPERATION = {"cpu": 1e-10, "gpu": 1e-12, "gpu_compute": 1e-12}


def rows(machine: str = "one", scale: float = 1.0) -> list[Row]:
    """Additions (n² operations) and products (2 n³) whose costs are known."""
    found = []
    for task, size in itertools.product(("add", "product"), SIZES):
        moved, work = 12.0 * size**2, float(size**2 if task == "add" else 2 * size**3)
        seconds = {
            target: scale * (PER_CALL[target] + PER_BYTE[target] * moved + PER_OPERATION[target] * work)
            for target in PER_CALL
        }
        found.append(Row(machine, task, "fp32", size, moved, work, seconds))
    return found


def test_costs_are_found_again_and_go_on_beyond_the_largest_size() -> None:
    model = costs.learn([row for row in rows() if row.size <= 512])
    for row in rows():
        for target, seconds in row.seconds.items():
            found = model.predict("one", row.task, "fp32", row.size, target)
            assert found
            assert found.basis == "this task"
            assert found.seconds == pytest.approx(seconds, rel=1e-3)
    told = model.list_costs("one", "product", "fp32", "cpu")
    assert told
    assert told["operation"] == pytest.approx(PER_OPERATION["cpu"], rel=1e-2)


def test_what_is_not_known_is_said_and_not_made_up() -> None:
    model = costs.learn(rows())
    assert model.predict("one", "sort", "fp32", 64, "cpu") is None
    assert model.predict("one", "add", "fp64", 64, "cpu") is None
    elsewhere = model.predict("another", "add", "fp32", 64, "cpu")
    other = model.predict("one", "sort", "fp32", 64, "cpu", moved=1e4, work=1e5)
    assert elsewhere
    assert elsewhere.basis == "this task on other machines"
    assert other
    assert other.basis == "other tasks"
    assert costs.find_too_few([row for row in rows() if row.size < 128]) == {
        ("one", "add", "fp32"): 3, ("one", "product", "fp32"): 3,
    }  # fmt: skip


def test_the_gpu_is_chosen_from_where_it_wins() -> None:
    model = costs.learn(rows())
    for row in rows():
        faster = row.seconds["gpu"] < row.seconds["cpu"]
        assert model.is_gpu_faster("one", row.task, "fp32", row.size) == faster
    limits = costs.find_thresholds(rows())
    wins = {task: min(row.size for row in rows() if row.task == task and row.seconds["gpu"] < row.seconds["cpu"])
            for task in ("add", "product")}  # fmt: skip
    assert limits == {("add", "fp32"): wins["add"], ("product", "fp32"): wins["product"],
                      ("", "fp32"): sum(wins.values()) / 2}  # fmt: skip
    assert model.is_gpu_faster("one", "sort", "fp32", limits["", "fp32"]) is True
    assert model.is_gpu_faster("one", "sort", "fp32", limits["", "fp32"] - 1) is False
    assert model.is_gpu_faster("one", "sort", "fp64", 1e9) is None


def test_scores_are_those_of_a_count_by_hand() -> None:
    """With exact costs the model makes no errors, so the rules' regrets are plain sums over the devices."""
    known = rows()
    found = {
        score.left_out: score for score in validation.score_parts(validation.validate([*known, *rows("two", 2.0)]))
    }
    assert set(found) == {"every fifth size", "the largest fifth of the sizes", "one task", "one machine"}
    sizes = found["every fifth size"]
    assert sizes.rows == sizes.decided == 2 * len(known)
    assert max(sizes.error_pct.values()) < 0.1
    best = sum(min(row.seconds["cpu"], row.seconds["gpu"]) for row in known)
    for rule, device in (("always GPU", "gpu"), ("always CPU", "cpu")):
        expected = 100 * (sum(row.seconds[device] for row in known) / best - 1)
        assert sizes.regret_pct[rule] == pytest.approx(expected)
    assert sizes.regret_pct["model"] == pytest.approx(0, abs=1e-9)
    # a machine twice as slow, predicted from the other one, is off by a half, and that one by twice
    assert found["one machine"].error_pct["cpu"] == pytest.approx(75, abs=1)


def test_what_was_not_learned_of_the_rest_counts_for_no_regret_of_the_model(tmp_path: Path) -> None:
    """Each fold leaves three of four sizes, too few to learn from: so nothing was tested."""
    few = [row for row in rows() if row.size in SIZES[::2]]
    found = {score.left_out: score.regret_pct for score in validation.score_parts(validation.validate(few))}
    assert set(found["every fifth size"]) == {"threshold", "always GPU", "always CPU"}
    assert validation.compute_trust(validation.validate(few)) == {}
    file = tmp_path / "model.skops"
    costs.learn(few).save(file)
    trusted = validation.compute_trust(validation.validate(rows()))
    assert set(trusted) == {
        (task, "fp32", left_out) for task in ("add", "product") for left_out in (validation.SIZES, validation.LARGEST)
    }
    (without,) = [
        score for score in validation.score_parts(validation.validate(rows())) if score.left_out == "one task"
    ]
    assert "model" not in without.regret_pct


def test_a_model_that_lost_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The GPU catches up to 512 and then falls behind: extrapolating, the model chooses it."""
    file = table(tmp_path / "features.parquet")
    frame = pd.read_parquet(file)
    frame["gpu_total_median_ns"] *= 60 + 540 * (frame["size"] >= 1024)
    frame.to_parquet(file)
    assert main(["learn", str(file)]) == 0
    said = capsys.readouterr().out
    assert re.search(r"^one task .* - +[0-9.]+ % ", said, re.MULTILINE)
    assert "the largest fifth of the sizes left out: the model chose worse than the threshold" in said


def test_a_model_is_saved_without_code(tmp_path: Path) -> None:
    model, file = costs.learn(rows()), tmp_path / "model.skops"
    model.save(file)
    again = costs.load(file)
    assert again.tasks == model.tasks
    for row in rows():
        assert again.predict("one", row.task, "fp32", row.size, "gpu") == model.predict(
            "one", row.task, "fp32", row.size, "gpu"
        )
    assert file.stat().st_size < 100_000


class _Runs:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return exec, ("raise SystemExit('it ran')",)


@pytest.mark.parametrize("kind", ["pickle", "cut", "text", "unknown type", "empty"])
def test_files_that_are_no_model_are_refused(tmp_path: Path, kind: str) -> None:
    from skops import io

    good, bad = tmp_path / "good.skops", tmp_path / "bad.skops"
    costs.learn(rows()).save(good)
    if kind == "pickle":
        bad.write_bytes(pickle.dumps(_Runs()))
    elif kind == "cut":
        bad.write_bytes(good.read_bytes()[:-200])
    elif kind == "unknown type":
        io.dump({"format": costs.FORMAT, "fits": [[], []], "sizes": [], "limits": [], "more": re.compile("x")}, bad)
        with zipfile.ZipFile(bad) as packed:
            assert "schema.json" in packed.namelist()
    else:
        bad.write_text("no model" if kind == "text" else "")
    with pytest.raises(WorkloadError, match="is no model of `python -m workloads learn`"):
        costs.load(bad)


def _few_terms(told: dict[str, Any]) -> None:
    told["fits"][1] = told["fits"][1][:, :3]


def _no_number(told: dict[str, Any]) -> None:
    told["fits"][1][:] = float("nan")


def _negative(told: dict[str, Any]) -> None:
    told["fits"][1] *= -1


def _no_size(told: dict[str, Any]) -> None:
    told["sizes"][0][2][0, 0] = 0


def _equal_sizes(told: dict[str, Any]) -> None:
    told["sizes"][0][2][:, 0] = 5


def _list_of_sizes(told: dict[str, Any]) -> None:
    told["sizes"][0][2] = [1, 2]


def _no_limit(told: dict[str, Any]) -> None:
    told["limits"][0][2] = float("nan")


def _large(told: dict[str, Any]) -> None:
    told["more"] = np.zeros(checks.MOST_BYTES // 8)


@pytest.mark.parametrize(
    "change", [_few_terms, _no_number, _negative, _no_size, _equal_sizes, _list_of_sizes, _no_limit, _large]
)
def test_models_of_wrong_numbers_are_refused(tmp_path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    from skops import io

    good, bad = tmp_path / "good.skops", tmp_path / "bad.skops"
    costs.learn(rows()).save(good)
    told = io.load(good)
    io.dump(told, bad)
    assert costs.load(bad).tasks == ["add", "product"]
    change(told)
    io.dump(told, bad, compression=zipfile.ZIP_DEFLATED)
    with pytest.raises(WorkloadError, match="is no model of `python -m workloads learn`"):
        costs.load(bad)


def test_a_model_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match=r"model.skops is not there\. Make it with: python -m workloads learn"):
        costs.load(tmp_path / "model.skops")


def table(path: Path, *, sizes: int = len(SIZES)) -> Path:
    """Write rows as `warpdeck features` does."""
    pd.DataFrame(
        {
            "gpu_name": "GPU", "cpu_name": "CPU", "precision": row.precision, "task": row.task, "size": row.size,
            "flops": row.work, "bytes_to_device": row.moved, "bytes_to_host": 0,
            **{f"{name}_median_ns": row.seconds[target] * 1e9
               for target, name in (("cpu", "cpu_total"), ("gpu", "gpu_total"), ("gpu_compute", "gpu_compute"))},
        }
        for row in rows()
        if row.size in SIZES[:sizes]
    ).to_parquet(path)  # fmt: skip
    return path


def test_the_command_learns_and_says_how_well(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    features, model = table(tmp_path / "features.parquet"), tmp_path / "model.skops"
    assert main(["learn", str(features), "-o", str(model)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("16 rows, 2 tasks, GPU with CPU\n")
    assert re.search(r"^every fifth size +16 +0\.0 % +0\.0 % +0\.0 % +0\.0 %", said, re.MULTILINE)
    assert costs.load(model).tasks == ["add", "product"]


def test_rows_without_bytes_are_left_out_and_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = table(tmp_path / "features.parquet")
    frame = pd.read_parquet(file)
    frame.loc[frame["task"] == "add", ["bytes_to_device", "bytes_to_host"]] = float("nan")
    frame.to_parquet(file)
    assert main(["learn", str(file)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == f"{file}: 8 of 16 rows are excluded, which tell no bytes"
    assert said[1].startswith("8 rows, 1 task")
    frame.drop(columns=["bytes_to_device", "bytes_to_host"]).to_parquet(file)
    assert main(["learn", str(file)]) == 1
    assert "tells the bytes of no task" in capsys.readouterr().err


def test_too_little_to_learn_from_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["learn", str(table(tmp_path / "few.parquet", sizes=3))]) == 1
    assert "There is too little to learn from: no task has 4 sizes." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("task,size\n", "has no row with a task, a size and a time"),
        ("a,b\n1,2\n", "has no column task"),
        ("task,size,cpu_total_median_ns\nadd,0,5\nadd,inf,5\nadd,3,-1\nadd,x,5\n", "has no row with a task"),
        ("\x00\xff", "cannot be read as a table|has no column"),
    ],
)
def test_tables_that_tell_nothing_are_refused(tmp_path: Path, content: str, said: str) -> None:
    file = tmp_path / "features.csv"
    file.write_text(content)
    with pytest.raises(WorkloadError, match=said):
        read(file)


def test_a_parquet_file_of_too_many_rows_is_not_read(tmp_path: Path) -> None:
    """The footer states the number of rows; no page could be read."""
    file, many = tmp_path / "features.parquet", pa.array(np.ones(1_000_001, np.int8))
    parquet.write_table(pa.table({"task": many, "size": many}), file)
    packed = bytearray(file.read_bytes())
    end = len(packed) - 8 - int.from_bytes(packed[-8:-4], "little")
    packed[4:end] = b"\xff" * (end - 4)
    file.write_bytes(packed)
    with pytest.raises(WorkloadError, match="has more than 1,000,000 rows"):
        read(file)


def test_tasks_may_be_called_by_numbers(tmp_path: Path) -> None:
    file = tmp_path / "features.csv"
    frame = pd.read_parquet(table(tmp_path / "features.parquet"))
    frame.assign(task=frame["task"].map({"add": 1, "product": 2})).to_csv(file, index=False)
    assert {row.task for row in read(file)} == {"1", "2"}


def test_names_are_said_without_what_a_terminal_obeys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A table that names neither machine nor precision, with too few sizes of one task."""
    file = tmp_path / "features.parquet"
    frame = pd.read_parquet(table(file))
    frame = frame[(frame["task"] == "add") | (frame["size"] < 128)].drop(columns=["gpu_name", "cpu_name", "precision"])
    frame.replace({"product": "\x1b[31mred\x07"}).to_parquet(file)
    assert main(["learn", str(file)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[:2] == ["11 rows, 1 task", "not learned: [31mred has 3 of 4 sizes"]


def test_of_tasks_that_are_left_out_no_other_one_is_learned() -> None:
    """Only costs that apply to any task are used then."""
    measured = [replace(row, task=f"{row.task} {number}") for number in range(2) for row in rows()]
    known = [row for row in measured if row.task != "add 0"]
    every, any_ = costs.learn(known), costs.learn(known, each=False)
    assert any_.tasks == []
    told = [one.predict("one", "add 0", "fp32", 64, "cpu", moved=1e4, work=1e4) for one in (every, any_)]
    assert told[0] == told[1]
    assert any_.limits == every.limits


def test_a_file_that_is_no_parquet_is_refused(tmp_path: Path) -> None:
    (tmp_path / "features.parquet").write_bytes(np.arange(100).tobytes())
    with pytest.raises(WorkloadError, match="cannot be read as a table"):
        read(tmp_path / "features.parquet")


def test_large_results_cost_more_a_byte_and_so_beyond_the_largest_size() -> None:
    """A result below 33 MB costs nothing more; the cost of one large result applies to larger ones."""
    slow, sizes = 5e-10, (64, 256, 512, 1024, 2000, 2900, 3100, 4096, 8192)
    measured = []
    for size in sizes:
        moved, result = 12.0 * size**2, 4.0 * size**2
        seconds = 1e-4 + 1e-10 * moved + (slow * result if result >= LARGE else 0)
        measured.append(Row("one", "add", "fp32", size, moved, size**2, {"cpu": seconds, "gpu": seconds}, None, result))
    model = costs.learn([row for row in measured if row.size < 4096])
    line = model.make_lines("one")["add", "fp32"]
    for row in measured:
        assert line(row.size).gpu_s == pytest.approx(row.seconds["gpu"], rel=0.02)
        told = model.predict("one", "add", "fp32", row.size, "gpu")
        assert told
        assert told.seconds == pytest.approx(row.seconds["gpu"], rel=0.02)
    found = model.list_costs("one", "add", "fp32", "gpu")
    assert found
    assert found["result_byte"] == pytest.approx(slow, rel=0.05)
