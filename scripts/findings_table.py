"""Write docs/findings_samples.md: the verdict of every rule on every sample, from a library that holds them.

python scripts/findings_table.py LIBRARY
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from profiledb import words  # noqa: E402
from profiledb.findings import (  # noqa: E402
    judge,
    rulebook,
    sentences,
)
from profiledb.findings.finding import Finding  # noqa: E402
from profiledb.library.library import Library  # noqa: E402
from profiledb.studies.summary import document  # noqa: E402

TARGET = ROOT / "docs" / "findings_samples.md"
HEAD = """\
# What the rules say of the samples

Made by `python scripts/findings_table.py LIBRARY` from the sample reports, with the selection of the pages: warm-up
excluded. Rules that cost time state what a fix saves, as a share of the time: as predicted, or at most. The costliest
come first, each followed by those in the same time.
"""


def main(library_folder: Path) -> None:
    library, rules = Library(library_folder), rulebook.load().values()
    parts = [HEAD]
    for report in sorted(library.list(), key=lambda one: one.name):
        if any((ROOT / "sample_reports" / folder / report.name).exists() for folder in ("", "ddp", "jax", "torch")):
            params = document.get_page_params(library, report, {})
            findings = judge.judge(library, report, params, rules, judge.find_steady_part(library, report, params))
            parts.append(format_section(report.name, findings))
    TARGET.write_text("\n".join(parts), encoding="utf-8")


def format_section(name: str, findings: list[Finding]) -> str:
    """Return the rules that fire in a report and the number of those that do not."""
    lines = [f"## {Path(name).stem}{' (Compute)' if name.endswith('.ncu-rep') else ''}", ""]
    for one in findings:
        if one.verdict == "fires":
            share = f", {words.percent(one.saving_pct)}" if one.saving_pct is not None else ""
            lines.append(f"- `{one.rule.name}` ({one.severity}{share}): {sentences.says(one)}")
    verdicts = [one.verdict for one in findings]
    lines.append(f"- {verdicts.count('clear')} rules are clear, {verdicts.count('cannot_judge')} cannot be judged.")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
