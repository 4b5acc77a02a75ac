"""A small file of each report's findings, so that lists of reports can show them without running any query.

``LIBRARY/derived/answers/<report>/findings.json`` holds the rules that fire in the part that pages show by default. It
is written when a report is prepared (profiledb.studies.prefetch) and is valid while its key (query/request.py), the
rules, their thresholds and the code that computes answers are unchanged. A damaged or outdated file is ignored.
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
from profiledb.replay import saving
from profiledb.report.derived_files import FINDINGS

MOST_BYTES = 1_000_000
Links = Mapping[str, Mapping[str, str]]
"""Ids of linked reports, by kind of link and by the report that is judged."""


@dataclass(frozen=True)
class Found:
    """A rule that fires: its name, severity (finding.SEVERITIES), saving in percent, and sentence."""

    rule: str
    severity: str
    saving_pct: float | None
    sentence: str

    @property
    def costs(self) -> bool:
        """Return True if it costs time, rather than being a warning or a note."""
        return self.severity in ("high", "medium", "low")


def write_digest(library: Library, report_id: str, rules: Mapping[str, Rule], findings: Iterable[Finding]) -> None:
    """Write the rules that fire, in the order of the findings, unless the answer store is turned off."""
    if not config.load().answers_mb:
        return
    entries = [
        asdict(Found(one.rule.name, one.severity, one.saving_pct, sentences.strip_sentence(one)))
        for one in findings
        if one.verdict == "fires"
    ]
    key = _compute_key(library, report_id, read_links(library.catalog.links.all), rules.values())
    content = json.dumps({"key": key, "found": entries}).encode()
    path = library.derived.answers / report_id / FINDINGS
    with suppress(OSError):  # a full disk or a read-only library: lists of reports omit the findings
        path.parent.mkdir(parents=True, exist_ok=True)
        answer_store.put(path, content)


def read_digest(library: Library, report_id: str, linked: Links, rules: Mapping[str, Rule]) -> tuple[Found, ...] | None:
    """Return the rules that fire, the costliest first, or None if the report has no valid digest.

    ``linked`` is the result of ``links``, which lists of reports compute once.
    """
    library.fetch_in_background(report_id, FINDINGS)
    path = library.derived.answers / report_id / FINDINGS
    try:
        key, entries = _parse_file(path, path.stat().st_mtime_ns)
    except OSError:
        return None
    return entries if key == _compute_key(library, report_id, linked, rules.values()) else None


@lru_cache(maxsize=1000)  # some pages of lists
def _parse_file(path: Path, stamp: int) -> tuple[str, tuple[Found, ...]]:  # noqa: ARG001 (part of the key)
    """Return the key and the rows of a file, with an empty key if it is damaged. Raises OSError if it does not
    exist."""
    with path.open("rb") as file:
        content = file.read(MOST_BYTES)
    try:
        stored = json.loads(content)
        return str(stored["key"]), tuple(Found(**one) for one in stored["found"])
    except (ValueError, KeyError, TypeError):
        return "", ()


def read_links(every: Callable[[Partner], Mapping[str, str]]) -> Links:
    """Return the linked reports of each report by kind: its Compute report, and the Systems report of a trace.

    ``every`` returns the partners of all Systems reports for a kind of link.
    """
    return {"ncu": every("ncu"), "systems": {trace: nsys for nsys, trace in every("trace").items()}}


def hash_rules(rules: Iterable[Rule]) -> str:
    """Return a text that differs whenever a rule, a view that it builds on, or a threshold differs."""
    return f"findings {_hash_rules(tuple(rules))}"


def _compute_key(library: Library, report_id: str, linked: Links, rules: Iterable[Rule]) -> str:
    partners = {kind: ids[report_id] for kind, ids in linked.items() if report_id in ids}
    _, *key = request.make_key(library, report_id, hash_rules(rules), (), partners)  # libraries may be moved
    return hashlib.sha256(repr((answer_store.hash_code(), key)).encode(errors="surrogatepass")).hexdigest()


@lru_cache(maxsize=8)
def _hash_rules(rules: tuple[Rule, ...]) -> str:
    text = repr((saving.VERSION, [(rule.name, rule.version, rule.changes, rule.analysis.params) for rule in rules]))
    return hashlib.sha256(text.encode()).hexdigest()
