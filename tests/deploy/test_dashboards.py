"""Grafana's dashboard and Prometheus's alerts name existing metrics only, and panels do not overlap."""

import json
import re
from itertools import combinations

import yaml

from tests.conftest import ROOT

BOARD = json.loads((ROOT / "deploy" / "grafana_dashboard.json").read_text(encoding="utf-8"))
ALERTS = yaml.safe_load((ROOT / "deploy" / "prometheus_alerts.yml").read_text(encoding="utf-8"))
_NAME = re.compile(r"warpdeck_[a-z_]+")
_PARTS = re.compile(r"_(bucket|count|sum|total)$")


def expressions() -> list[str]:
    shown = [target["expr"] for panel in BOARD["panels"] for target in panel["targets"]]
    return shown + [rule["expr"] for group in ALERTS["groups"] for rule in group["rules"]]


def test_each_figure_exists_and_is_documented() -> None:
    docs = (ROOT / "docs" / "team.md").read_text(encoding="utf-8")
    named = {_PARTS.sub("", name) for text in expressions() for name in _NAME.findall(text)}
    assert len(named) > 12
    told = {_PARTS.sub("", name) for name in _NAME.findall(docs)}
    assert named <= told
    sources = "".join(
        (ROOT / path).read_text(encoding="utf-8")
        for path in ("app/monitoring.py", "ingest/monitoring.py", "profiledb/monitoring/counters.py")
    )
    known = {_PARTS.sub("", name) for name in re.findall(r'"(warpdeck_[a-z_]+)"', sources)}
    assert named <= known


def test_brackets_are_closed_and_labels_quoted() -> None:
    for text in expressions():
        for opens, closes in ("()", "[]", "{}"):
            assert text.count(opens) == text.count(closes), text
        assert text.count('"') % 2 == 0, text


def test_panels_do_not_overlap() -> None:
    places = [panel["gridPos"] for panel in BOARD["panels"]]
    assert len({panel["id"] for panel in BOARD["panels"]}) == len(places)
    for one, other in combinations(places, 2):
        apart = (
            one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
            or one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
        )  # fmt: skip
        assert apart, (one, other)
    assert all(one["x"] + one["w"] <= 24 for one in places)


def test_an_alert_says_what_to_do() -> None:
    for rule in (rule for group in ALERTS["groups"] for rule in group["rules"]):
        assert rule.keys() <= {"alert", "expr", "for", "labels", "annotations"}
        assert rule["annotations"]["summary"].endswith(".")
