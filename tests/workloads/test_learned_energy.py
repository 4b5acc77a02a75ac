"""Energy is learned like times, validated by its own regret, and used by the scheduler."""

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

pytest.importorskip("sklearn")
pytest.importorskip("skops")

from tests.workloads.test_learning import SIZES, rows, table
from tests.workloads.test_scheduler import Given
from workloads.__main__ import main
from workloads.errors import WorkloadError
from workloads.learning import costs, measured, validation
from workloads.learning.table import ENERGY, Row, read
from workloads.scheduler import Scheduler
from workloads.system import read_cpu_name

BUSY_W, IDLE_W = 500.0, 100.0


def metered(machine: str = "one") -> list[Row]:
    """The rows of known costs, with a GPU that draws 500 W at work and 100 W when nothing runs."""
    return [
        replace(row, seconds={**row.seconds, ENERGY: BUSY_W * row.seconds["gpu"]}, idle_w=IDLE_W)
        for row in rows(machine)
    ]


@pytest.fixture(scope="module")
def model() -> costs.TimeModel:
    measured = [*metered(), *metered("two")]
    found = costs.learn(measured)
    found.trust = validation.compute_trust(validation.validate(measured))
    return found


def test_energy_is_found_again_and_kept_in_the_file(model: costs.TimeModel, tmp_path: Path) -> None:
    model.save(tmp_path / "model.skops")
    again = costs.load(tmp_path / "model.skops")
    assert (again.get_idle_w("one"), again.get_idle_w("a third")) == (IDLE_W, IDLE_W)
    line = again.make_lines("one")["product", "fp32"]
    for row in metered():
        if row.task == "product":
            assert line(row.size).gpu_joules == pytest.approx(row.seconds[ENERGY], rel=1e-3)
    assert costs.learn(rows()).get_idle_w("one") is None
    assert costs.learn(rows()).make_lines("one")["product", "fp32"](64).gpu_joules is None


def test_regret_of_energy_by_hand() -> None:
    """The GPU takes five times the power, so it saves energy where it is five times as fast."""
    found = {score.left_out: score for score in validation.score_parts(validation.validate(metered()))}[
        "every fifth size"
    ]
    assert found.error_pct[ENERGY] < 0.1
    pairs = [(IDLE_W * row.seconds["cpu"], BUSY_W * row.seconds["gpu"]) for row in rows()]
    best = sum(map(min, pairs))
    faster = sum(cpu if gpu / BUSY_W >= cpu / IDLE_W else gpu for cpu, gpu in pairs)
    assert found.energy_regret_pct == {
        "by energy": pytest.approx(0, abs=1e-9), "by time": pytest.approx(100 * (faster / best - 1)),
        "always GPU": pytest.approx(100 * (sum(gpu for _, gpu in pairs) / best - 1)),
        "always CPU": pytest.approx(100 * (sum(cpu for cpu, _ in pairs) / best - 1)),
    }  # fmt: skip
    assert validation.score("nothing", list(validation.judge_rows([(rows(), rows())]))).energy_regret_pct == {}


def test_a_scheduler_chooses_by_time_energy_or_both(model: costs.TimeModel) -> None:
    between = [row.size for row in rows() if row.task == "product" and 1 < row.seconds["cpu"] / row.seconds["gpu"] < 5]
    assert between, "a size at which the GPU is faster and takes more energy"
    told = {
        weight: Scheduler(model, readings=Given(), energy_weight=weight).schedule("product", between[0])
        for weight in (0, 0.5, 1)
    }
    assert {weight: one.device for weight, one in told.items()}[0] == "gpu"
    assert (told[1].device, told[1].reason) == ("cpu", "CPU better by energy")
    ratio = told[0.5].cpu_s / told[0.5].gpu_s if told[0.5].cpu_s and told[0.5].gpu_s else 0
    assert told[0.5].device == ("gpu" if ratio**2 > BUSY_W / IDLE_W else "cpu"), "the product of time and energy"
    host = Scheduler(model, readings=Given(), energy_weight=1, host_w=10_000).schedule("product", between[0])
    assert host.device == "gpu", "beside such a host the GPU's power is nothing"
    assert Scheduler(model, readings=Given(), energy_weight=1).schedule("product", SIZES[-1]).device == "gpu"


def test_without_energy_it_goes_by_time_and_says_so() -> None:
    measured = [*rows(), *rows("two")]
    found = costs.learn(measured)
    found.trust = validation.compute_trust(validation.validate(measured))
    decision = Scheduler(found, readings=Given(), energy_weight=1).schedule("product", 2048)
    assert (decision.device, decision.reason) == ("gpu", "GPU faster by the model, energy not learned")
    for weight, host_w in ((1.5, 0.0), (-0.1, 0.0), (1.0, -1.0)):
        with pytest.raises(WorkloadError, match="energy_weight must be from 0 to 1"):
            Scheduler(found, readings=Given(), energy_weight=weight, host_w=host_w)


def test_the_command_says_errors_and_regrets_of_energy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = table(tmp_path / "plain.parquet")
    assert main(["learn", str(plain)]) == 0
    assert "energy" not in capsys.readouterr().out
    frame = pd.read_parquet(plain)
    file = tmp_path / "features.parquet"
    frame.assign(gpu_energy_j=BUSY_W * frame["gpu_total_median_ns"] / 1e9, gpu_idle_w=IDLE_W).to_parquet(file)
    assert {row.idle_w for row in read(file)} == {IDLE_W}
    assert main(["learn", str(file)]) == 0
    said = capsys.readouterr().out
    assert "gpu energy error" in said
    assert "energy of the GPUs, every fifth size left out: regret by energy 0.0 %, by time " in said


def test_the_policy_energy_needs_a_model_that_has_it(capsys: pytest.CaptureFixture[str]) -> None:
    for policies in ("energy", "model,energy"):
        assert main(["run", "queue", "--device", "cpu", "--count", "2", "--sizes", "8", "--policies", policies]) == 1
        assert "The policy energy needs a --model that has learned energy." in capsys.readouterr().err


LOG = "time_ns,device,power_w,energy_mj\n"
TIMES = """task,size,device,part,seconds,time_ns,repetitions
mm,8,cpu,allocate,0.001,,
mm,8,cpu,compute,0.003,,
mm,8,gpu,to_device,0.001,,
mm,8,gpu,compute,0.002,,
mm,8,gpu,to_device,0.003,,
mm,8,gpu,compute,0.006,,
mm,8,gpu,compute,0.1,,
mm,9,cpu,compute,0.005,,
mm,8,none,repeated,1,1000000000,1000
mm,9,none,repeated,0.05,1000000000,10
"""


@pytest.fixture
def times(tmp_path: Path) -> Path:
    """Times as `tasks` writes them: 400 W between the changes of the counter within the second of repetitions."""
    changes = [(0, 0.0), (500, 50.0), (950, 95.0), (1150, 175.0), (1550, 335.0), (1950, 495.0), (2150, 545.0)]
    readings = [f"{ms * 10**6},0,{100 + ms},{joules * 1000:.0f}\n" for ms, joules in changes]
    (tmp_path / "run.nvml.csv").write_text(LOG + "".join(readings))
    facts = {
        "precision": "fp32", "gpus": [{"name": "G"}], "cpu_name": "C", "flops_by_task": {"mm_8": 1024},
        "bytes_by_task": {"mm_8": 768, "mm_9": 972},
    }  # fmt: skip
    (tmp_path / "run.meta.json").write_text(json.dumps(facts))
    file = tmp_path / "run.tasks.csv"
    file.write_text(TIMES)
    return file


def test_measured_tasks_are_read_without_a_report(times: Path) -> None:
    one, other = measured.read(times)
    assert (one.machine, one.precision, one.moved, one.work, one.idle_w) == ("G with C", "fp32", 768, 1024, 100)
    assert one.seconds == {
        "cpu": pytest.approx(0.004), "gpu": pytest.approx(0.006), "gpu_compute": pytest.approx(0.006),
        ENERGY: pytest.approx(0.4),
    }, "the third repetition on the GPU lacks a part"  # fmt: skip
    assert other.seconds == {"cpu": pytest.approx(0.005)}, "its repetitions end before the counter changes twice"
    times.with_name("run.nvml.csv").unlink()
    assert ENERGY not in measured.read(times)[0].seconds


def test_what_lacks_its_facts_is_refused(times: Path) -> None:
    times.with_name("run.meta.json").write_text("[]")
    with pytest.raises(WorkloadError, match="has no bytes_by_task"):
        measured.read(times)
    times.with_name("run.meta.json").write_text("{")
    with pytest.raises(WorkloadError, match="is needed beside the times"):
        measured.read(times)
    odd = {"gpus": {}, "bytes_by_task": {"mm_8": "many", "mm_9": -1}, "flops_by_task": [1]}
    times.with_name("run.meta.json").write_text(json.dumps(odd))
    with pytest.raises(WorkloadError, match="has no bytes_by_task"):
        measured.read(times)
    times.write_text(
        TIMES.splitlines()[0] + "\nmm,x,cpu,compute,1,,\nmm,8,cpu,compute,long,,\n,9,none,repeated,1,y,z\n"
    )
    assert measured.read(times) == []
    times.write_text("task,size\nmm,8\n")
    with pytest.raises(WorkloadError, match="has no column device"):
        measured.read(times)


def test_tasks_are_learned_as_they_were_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two precisions together; a machine without a GPU has only CPU times."""
    files = []
    for precision in ("fp32", "fp64"):
        monkeypatch.setenv("WORKLOADS_RECORD", str(tmp_path / precision))
        words = ["--device", "cpu", "--sizes", "8,12,16,24", "--precision", precision, "--tasks", "fft,sort"]
        assert main(["run", "tasks", *words, "--steps", "1"]) == 0
        files.append(str(tmp_path / f"{precision}.tasks.csv"))
    capsys.readouterr()
    assert main(["learn", *files]) == 0
    assert capsys.readouterr().out.startswith(f"16 rows, 2 tasks, {read_cpu_name()}\n")
    half_spectrum = 8 * 5 * 8
    assert measured.read(Path(files[0]))[0].moved == 8 * 8 * 4 + half_spectrum
