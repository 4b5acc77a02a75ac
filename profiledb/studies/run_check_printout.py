"""Print the check of a run as Markdown, as JSON, and as JUnit."""

import json
from urllib.parse import urlencode
from xml.etree import ElementTree as ET

from profiledb import words
from profiledb.studies.run_gate import RunCheck
from profiledb.studies.trends import printout
from profiledb.studies.trends.printout import Form


def format_run_check(checked: RunCheck, form: Form, url: str = "") -> str:
    """Return the check of a run as text; arguments and errors are those of ``printout.format_check``."""
    runs = {"run": checked.run, "before": checked.before}
    base = printout.check_address(url) if url else ""
    links = {kind: f"{base}/run?{urlencode({'report': run.reports[0]})}" for kind, run in runs.items()} if base else {}
    if form == "junit":
        suite = ET.Element("testsuite", name="warpdeck")
        printout.add_judged(suite, checked.judged)
        return printout.write_suite(suite, links.values())
    if form == "json":
        content = {
            "run": checked.run.name,
            "reports": checked.run.reports,
            "against": checked.against,
            "before": checked.before.reports,
            "fails": checked.fails,
            "measures": [printout.describe_judged(one) | {"runs": one.reports} for one in checked.judged],
            "links": links,
        }
        return json.dumps(content, indent=1) + "\n"
    count = max((one.reports for one in checked.judged), default=0)
    basis = f"the median of {words.counted(count, 'earlier run')} of " if checked.is_series else "run "
    sections = [
        f"### Warpdeck: {', '.join(printout.list_failures(checked.judged)) or 'within all limits'}",
        f"Run {words.code(checked.run.name)} against {basis}{words.code(checked.against)}.",
        printout.format_judged(checked.judged),
    ]
    if links:
        sections.append(f"[Run]({links['run']}) · [Run before]({links['before']})")
    return "\n\n".join(sections) + "\n"
