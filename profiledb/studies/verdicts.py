"""Verdicts about the part of a report that pages show at first, stored for lists, summaries and the gate."""

from profiledb import config
from profiledb.findings import digest, judge, rulebook
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
