"""What rules found of each report, in a small file, so that lists of reports say it without asking anything.

``LIBRARY/derived/answers/<report>/findings.json`` holds what fires in what pages show by default. It is written where
a report is prepared (profiledb.studies.prefetch). It counts while its key (query/request.py) stays as it is, with the
rules, their thresholds and the code that makes answers. What is damaged or out of date is no digest.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

from profiledb import config
from profiledb.findings import sentences
from profiledb.findings.finding import Finding
from profiledb.findings.rule import Rule
from profiledb.library.library import Library
from profiledb.library.report_links import Partner
from profiledb.query import answer_store, request
from profiledb.report.derived_files import FINDINGS

MOST_BYTES = 1_000_000
Links = Mapping[str, Mapping[str, str]]
"""Ids of reports by kind of link and by the report that is judged."""


@dataclass(frozen=True)
class Found:
    """A rule that fires: its name, severity (finding.SEVERITIES), largest possible saving in percent, and sentence."""

    rule: str
    severity: str
    saving_pct: float | None
    sentence: str

    @property
    def costs(self) -> bool:
        """Whether it is more than a remark."""
        return self.severity in ("high", "medium", "low")


def write(library: Library, report_id: str, rules: Mapping[str, Rule], findings: Iterable[Finding]) -> None:
    """Keeps what fires, in the order of the findings, where answers are kept at all."""
    if not config.load().answers_mb:
        return
    found = [
        asdict(Found(one.rule.name, one.severity, one.saving_pct, sentences.plain(one)))
        for one in findings
        if one.verdict == "fires"
    ]
    told = _key(library, report_id, links(library.catalog.links.all), rules.values())
    content = json.dumps({"key": told, "found": found}).encode()
    path = library.derived.answers / report_id / FINDINGS
    with suppress(OSError):  # a full disk, a library that is read only: the list does without it
        path.parent.mkdir(parents=True, exist_ok=True)
        answer_store.put(path, content)


def read(library: Library, report_id: str, linked: Links, rules: Mapping[str, Rule]) -> tuple[Found, ...] | None:
    """What fires, the costliest first; None where nobody has judged the report as it is now.

    ``linked``: ``links`` of the library, which lists of reports ask for once.
    """
    library.fetch_in_background(report_id, FINDINGS)
    path = library.derived.answers / report_id / FINDINGS
    try:
        told, found = _parsed(path, path.stat().st_mtime_ns)
    except OSError:
        return None
    return found if told == _key(library, report_id, linked, rules.values()) else None


@lru_cache(maxsize=4096)
def _parsed(path: Path, stamp: int) -> tuple[str, tuple[Found, ...]]:  # noqa: ARG001 (part of the key)
    """The key and the rows of a file; an empty key where it is damaged. Raises OSError where it is gone."""
    with path.open("rb") as file:
        content = file.read(MOST_BYTES)
    try:
        told = json.loads(content)
        return str(told["key"]), tuple(Found(**one) for one in told["found"])
    except (ValueError, KeyError, TypeError):
        return "", ()


def links(every: Callable[[Partner], Mapping[str, str]]) -> Links:
    """Return the reports by which each report is judged: its Compute report, and the Systems report of a trace.

    ``every``: returns the partner of each Systems report by kind of link.
    """
    return {"ncu": every("ncu"), "systems": {trace: nsys for nsys, trace in every("trace").items()}}


def version(rules: Iterable[Rule]) -> str:
    """Return a text that differs wherever a rule, a view that it builds on or a threshold differs."""
    return f"findings {_version(tuple(rules))}"


def _key(library: Library, report_id: str, linked: Links, rules: Iterable[Rule]) -> str:
    partners = {kind: ids[report_id] for kind, ids in linked.items() if report_id in ids}
    _, *key = request.key(library, report_id, version(rules), (), partners)  # a library may be moved
    return hashlib.sha256(repr((answer_store.code(), key)).encode(errors="surrogatepass")).hexdigest()


@lru_cache(maxsize=8)
def _version(rules: tuple[Rule, ...]) -> str:
    text = repr([(rule.name, rule.version, rule.analysis.params) for rule in rules])
    return hashlib.sha256(text.encode()).hexdigest()
