"""The worker validates the answer of a conversion, whose process has read a hostile file."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from ingest.conversion.messages import Limits, Outcome, Request


def test_requests_and_outcomes_survive_json() -> None:
    request = Request(
        Path("/inbox/a b"), Path("/w"), Path("/l"), Limits(1.5, 2, 3, idle_s=4.0), "sidecar", {"label": "x"}, ended=2
    )
    assert Request.from_dict(json.loads(json.dumps(request.to_dict()))) == request
    for outcome in (Outcome("ready", "0123456789abcdef", "{}"), Outcome("failed", message="no", cause="damaged")):
        assert Outcome.from_dict(json.loads(json.dumps(asdict(outcome)))) == outcome


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"state": "published"},
        {"state": ["ready"]},
        {"state": "ready", "report_id": "../../etc"},
        {"state": "ready", "report_id": 7},
        {"state": "failed", "cause": "whatever a file likes"},
        {"state": "failed", "message": {"a": 1}},
        {"state": "failed", "message": None},
        {"state": "ready", "more": ""},
    ],
)
def test_anything_else_is_no_outcome(values: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError)):
        Outcome.from_dict(values)
