"""A scheduler's decisions in words, from the rows of ``scheduler_policies`` and its neighbors.

Its goals: predicted times within ``ERROR_PCT``, a regret of at most ``REGRET_PCT`` and below that of every simpler
rule, decisions within ``DECISION_NS``. A sentence about a missed goal names the cause.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from profiledb.words import count, counted, duration, flops, number, percent, rate, shortened, significant

ERROR_PCT, REGRET_PCT, DECISION_NS = 15.0, 5.0, 50_000.0
"""Goals of a scheduler: limits of the median error of predicted times, the regret, and the median time of a
decision."""
ALL = "all"
RULES = ("threshold", "cpu", "gpu")
"""Policies without a model, by their names in the log; a scheduler's model pays off if it beats them."""
_TITLES = {
    "model": "model", "energy": "model, by energy", "threshold": "threshold", "cpu": "always CPU", "gpu": "always GPU",
    "oracle": "oracle",
}  # fmt: skip
_DEVICES = {"cpu": "CPU", "gpu": "GPU"}
_LENGTH = 40
_SPREAD_PCT = 10.0
"""Deviation of a policy's time from the medians of its sizes and devices that counts as scatter."""
_FEW_PCT = 1e-9


@dataclass(frozen=True)
class Remark:
    """A sentence, and whether it reports a missed goal."""

    words: str
    missed: bool = False


def get_policy_title(policy: Any) -> str:
    """Return the title of a policy (untrusted)."""
    return _TITLES.get(str(policy), shortened(policy, _LENGTH))


def main_policy(policies: pd.DataFrame) -> str:
    """Return the policy to show first: one that predicts, else the first one."""
    predicting = policies[policies["predicted"] > 0]
    return str((predicting if len(predicting) else policies)["policy"].iloc[0])


def find_overall(policies: pd.DataFrame, policy: str) -> "pd.Series[Any]":
    """Return the row of a policy over all loads."""
    own: pd.Series[Any] = policies[policies["policy"] == policy].iloc[-1]
    return own


def judge_policy(policies: pd.DataFrame, errors: pd.DataFrame, regrets: pd.DataFrame, policy: str) -> list[Remark]:
    """Return the sentences about a policy; ``errors`` and ``regrets`` are the rows of all policies."""
    row = find_overall(policies, policy)
    remarks: list[Remark | None] = [
        _state_predictions(row, errors[errors["policy"] == policy]),
        _state_regret(row, regrets[regrets["policy"] == policy]),
        _state_better_rules(policies, policy),
        _state_single_runs(policies, row),
        _state_energy(policies, policy),
        _state_speed(row),
    ]
    return [remark for remark in remarks if remark]


def _state_predictions(row: "pd.Series[Any]", errors: pd.DataFrame) -> Remark:
    error = number(row["error_pct"])
    if error is None:
        return Remark("No times were predicted.")
    words = f"Predicted times are off by {percent(error)} (median of {counted(row['predicted'], 'run')})."
    if error <= ERROR_PCT:
        return Remark(words)
    off = errors[errors["error_pct"] > ERROR_PCT].head(3).to_dict("records")
    where = "; ".join(
        f"{shortened(one['task'], _LENGTH)} on the {_DEVICES.get(one['device'], 'device')}, which took"
        f" {significant(1 / one['ratio'])} × the predicted time"
        for one in off
        if one["ratio"] > 0
    )
    return Remark(f"{words} The goal is {percent(ERROR_PCT)}." + (f" Most: {where}." if where else ""), missed=True)


def _state_regret(row: "pd.Series[Any]", regrets: pd.DataFrame) -> Remark:
    regret = number(row["regret_pct"])
    if regret is None:
        return Remark("No regret: no task was measured on both devices.")
    words = (
        f"The scheduler's choices take {percent(regret)} longer than always choosing the faster device:"
        f" {duration(row['regret_ns'])} more than its {duration(row['best_ns'])}. Always CPU takes"
        f" {percent(row['cpu_regret_pct'])} longer, always GPU {percent(row['gpu_regret_pct'])}."
    )
    if regret <= REGRET_PCT:
        return Remark(words)
    worst = f" Most: {explain_regret(regrets.iloc[0])}" if len(regrets) else ""
    return Remark(f"{words} The goal is {percent(REGRET_PCT)}.{worst}", missed=True)


def _state_better_rules(policies: pd.DataFrame, policy: str) -> Remark | None:
    """Report the rules that cost less than the policy, with the loads at which they do; None if there are none."""
    if policy in RULES:
        return None
    own = policies[policies["policy"] == policy].set_index("load")["regret_pct"]
    single = [load for load in own.index if load != ALL] or [ALL]
    rules = policies[policies["policy"].isin(RULES) & policies["load"].isin(single)].to_dict("records")
    better = []
    for one in rules:
        mine, other = number(own.get(one["load"])), number(one["regret_pct"])
        if mine is not None and other is not None and mine > other + _FEW_PCT:
            where = "" if one["load"] == ALL else f" ({shortened(one['load'], _LENGTH)})"
            better.append(f"{get_policy_title(one['policy'])}{where} {percent(other)} against {percent(mine)}")
    return Remark(f"Simpler rules lose less time: {'; '.join(better)}.", missed=True) if better else None


def _state_single_runs(policies: pd.DataFrame, row: "pd.Series[Any]") -> Remark | None:
    """Report how far single runs determine the figures: the policy's regret, and the time that deviates most."""
    phrases = []
    if row["single_runs"]:
        phrases.append(
            f"{count(row['single_runs'])} of {counted(row['judged'], 'decision')} compare with a size that ran once on"
            " a device, so their regret depends on chance."
        )
    last = policies.drop_duplicates("policy", keep="last").dropna(subset=["measured_ns", "expected_ns"])
    off = (last["measured_ns"] / last["expected_ns"] - 1).abs()
    if len(off) and off.max() > _SPREAD_PCT / 100:
        worst = last[off == off.max()].iloc[0]
        phrases.append(
            f"Tasks of the policy {get_policy_title(worst['policy'])} took {duration(worst['measured_ns'])},"
            " where the medians of"
            f" the same sizes on the same devices add up to {duration(worst['expected_ns'])}: runs scatter by as much,"
            " so smaller differences between the times of policies mean nothing."
        )
    return Remark(" ".join(phrases)) if phrases else None


def _state_energy(policies: pd.DataFrame, policy: str) -> Remark | None:
    """Report the GPU energy under each policy, this one first; None if it was not measured."""
    last = policies.drop_duplicates("policy", keep="last").set_index("policy")["joules"].dropna()
    if policy not in last:
        return None
    own, others = last[policy], last.drop(policy)
    listing = ", ".join(f"{get_policy_title(name)} {significant(joules)} J" for name, joules in others.items())
    return Remark(f"The GPUs drew {significant(own)} J meanwhile{f' ({listing})' if listing else ''}.")


def _state_speed(row: "pd.Series[Any]") -> Remark | None:
    took = number(row["decision_ns"])
    if took is None:
        return None
    words = f"A decision takes {duration(took)} (P99 {duration(row['decision_p99_ns'])})."
    return (
        Remark(words) if took <= DECISION_NS else Remark(f"{words} The goal is {duration(DECISION_NS)}.", missed=True)
    )


def explain_regret(row: Any) -> str:
    """Explain in one sentence why the decision in a row of ``scheduler_regrets`` was wrong."""
    device = _DEVICES.get(str(row["device"]), "device")
    return f"{shortened(row['task'], _LENGTH)} of {count(row['size'])} ran on the {device}: {_state_cause(row)}."


def shorten_reasons(regrets: pd.DataFrame) -> list[str]:
    """Return a short reason for each row."""
    return [cause[:1].upper() + cause[1:] for cause in map(_state_cause, regrets.to_dict("records"))]


def _state_cause(row: Any) -> str:
    own, other = str(row["device"]), "gpu" if row["device"] == "cpu" else "cpu"
    predicted = {device: number(row[f"{device}_predicted_ns"]) or 0.0 for device in (own, other)}
    if not all(predicted.values()):
        return f"no prediction, {shortened(row['reason'], 120)}"
    if predicted[own] > predicted[other]:
        return f"against the predictions, {shortened(row['reason'], 120)}"
    # Either its own time was predicted too short, or the other one's too long; the larger error counts.
    blamed = own if row[f"{own}_ns"] / predicted[own] >= predicted[other] / row[f"{other}_ns"] else other
    return f"{_DEVICES[blamed]} predicted {duration(predicted[blamed])}, takes {duration(row[f'{blamed}_ns'])}"


def describe_terms(model: pd.DataFrame) -> list[str]:
    """Describe the terms whose sum is the time of each row of ``scheduler_model``."""
    return [_list_terms(row) for row in model.to_dict("records")]


def _list_terms(row: Any) -> str:
    terms: Sequence[str] = [
        words
        for column, words in (
            ("call_ns", f"{duration(row['call_ns'])} per run"),
            ("row_ns", f"{duration(row['row_ns'])} per row"),
            ("bytes_per_s", f"bytes at {rate(row['bytes_per_s'])}"),
            ("operations_per_s", f"operations at {flops(row['operations_per_s'])}"),
            ("result_bytes_per_s", f"a large result at {rate(row['result_bytes_per_s'])}"),
        )
        if number(row[column]) is not None
    ]
    return " + ".join(terms)
