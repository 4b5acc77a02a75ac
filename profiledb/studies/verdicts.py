"""Verdicts about the part of a report that pages show at first, stored for lists, summaries and the gate."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from profiledb import config
from profiledb.errors import CatalogError, StorageError
from profiledb.findings import digest, judge, rulebook
from profiledb.findings.finding import Finding
from profiledb.findings.rule import Rule
from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.studies.summary.document import get_page_params


def store_verdicts(library: Library, report: Manifest) -> judge.Steady | None:
    """Store the verdicts of all rules about a report; return its steady part, if it has one."""
    rules = rulebook.load(config.load().rules)
    params = get_page_params(library, report, {})
    part = judge.find_steady_part(library, report, params)
    digest.write_digest(library, report.id, rules, judge.judge(library, report, params, rules.values(), part))
    return part


def judge_and_share(
    library: Library, report: Manifest, params: Mapping[str, Any], rules: Iterable[Rule], part: judge.Steady | None
) -> list[Finding]:
    """Judge as ``judge.judge`` does, and share new answers, so that no other server and no worker computes them."""
    folder = library.derived.answers / report.id
    before = _read_time(folder)
    findings = judge.judge(library, report, params, rules, part)
    if _read_time(folder) != before:
        with suppress(StorageError, CatalogError):
            library.share_prepared(report.id)
    return findings


def _read_time(folder: Path) -> int:
    """Return the time at which a file last came into a folder, in ns; 0 without the folder."""
    return folder.stat().st_mtime_ns if folder.exists() else 0
