"""Energy: learned as times are, validated by its own regret, and what a scheduler makes of it."""

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
from workloads.learning import costs, validation
from workloads.learning.table import ENERGY, Row, read
from workloads.scheduler import Scheduler

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
    found.trust = validation.trust(measured)
    return found


def test_energy_is_found_again_and_kept_in_the_file(model: costs.TimeModel, tmp_path: Path) -> None:
    model.save(tmp_path / "model.skops")
    again = costs.load(tmp_path / "model.skops")
    assert (again.idle_w("one"), again.idle_w("a third")) == (IDLE_W, IDLE_W)
    line = again.lines("one")["product", "fp32"]
    for row in metered():
        if row.task == "product":
            assert line(row.size).gpu_joules == pytest.approx(row.seconds[ENERGY], rel=1e-3)
    assert costs.learn(rows()).idle_w("one") is None
    assert costs.learn(rows()).lines("one")["product", "fp32"](64).gpu_joules is None


def test_regret_of_energy_by_hand() -> None:
    """The GPU takes five times the power, so it saves energy where it is five times as fast."""
    found = {score.left_out: score for score in validation.scores(metered())}["every fifth size"]
    assert found.error_pct[ENERGY] < 0.1
    pairs = [(IDLE_W * row.seconds["cpu"], BUSY_W * row.seconds["gpu"]) for row in rows()]
    best = sum(map(min, pairs))
    faster = sum(cpu if gpu / BUSY_W >= cpu / IDLE_W else gpu for cpu, gpu in pairs)
    assert found.energy_regret_pct == {
        "by energy": pytest.approx(0, abs=1e-9), "by time": pytest.approx(100 * (faster / best - 1)),
        "always GPU": pytest.approx(100 * (sum(gpu for _, gpu in pairs) / best - 1)),
        "always CPU": pytest.approx(100 * (sum(cpu for cpu, _ in pairs) / best - 1)),
    }  # fmt: skip
    assert validation.score("nothing", [(rows(), rows())]).energy_regret_pct == {}


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
    found.trust = validation.trust(measured)
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
    assert main(["run", "queue", "--device", "cpu", "--count", "2", "--sizes", "8", "--policies", "energy"]) == 1
    assert "The policy energy needs a --model that has learned energy." in capsys.readouterr().err
