"""``warpdeck findings REPORT``: what holds a report back, what it costs, what to do."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from profiledb import terminal
from profiledb.access.cli.params import DEFAULT, OUTPUT, PARAM, REPORT, STARTUP, parse_params
from profiledb.errors import AnalysisError

if TYPE_CHECKING:
    from profiledb.findings.finding import Finding
    from profiledb.findings.rule import Rule
    from profiledb.library.library import Library

FOUND = 1
"""Exit status where something fires that ``--fail-on`` names; after any error it is 2, as with ``compare``."""


def add(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command to a parser."""
    command = terminal.add(
        commands, "findings", "say what holds a report back, what it costs and what to do",
        "my.nsys-rep --format md --fail-on high", parents=[common],
        status="Exit status: 0; 1 if --fail-on names a finding or a severity that fires; 2 after any error.",
    )  # fmt: skip
    command.add_argument("report", metavar="REPORT", nargs="?", help=REPORT)
    command.add_argument("--param", action="append", default=[], metavar="NAME=VALUE", help=PARAM)
    command.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="RULE.PARAMETER=VALUE",
        help="replace a threshold or another parameter of a rule; may be repeated",
    )
    command.add_argument("--format", choices=("csv", "json", "md"), default="md", help=DEFAULT)
    command.add_argument(
        "--fail-on", action="append", default=[], metavar="RULE|SEVERITY",
        help=f"exit with {FOUND} if this rule fires, or any rule of this severity (high, medium, low) or a worse one",
    )  # fmt: skip
    command.add_argument("--startup", action="store_true", help=STARTUP)
    command.add_argument("--rules", action="store_true", help="list the rules with their thresholds instead")
    command.add_argument("-o", "--output", type=Path, metavar="FILE", help=OUTPUT)
    command.set_defaults(command=run, trouble=terminal.USAGE)


def run(library: "Library", arguments: argparse.Namespace) -> int:
    """Print the findings, or write them to a file."""
    from profiledb import config
    from profiledb.findings import judge, output, rulebook
    from profiledb.studies.summary import document

    rules = rulebook.load(config.load().rules)
    for text in arguments.set:
        rules = _change_threshold(rules, text)
    _check_names(arguments.fail_on, rules)
    if arguments.rules:
        terminal.write("".join(f"{_format_rule(rule)}\n" for rule in rules.values()).encode(), arguments.output)
        return 0
    if not arguments.report:
        raise AnalysisError("findings takes a report.", hint="warpdeck list lists all; --rules needs none.")
    report = library.find(arguments.report)
    params = document.get_page_params(library, report, parse_params(arguments.param))
    part = None if arguments.startup else judge.find_steady_part(library, report, params)
    findings = judge.judge(library, report, params, rules.values(), part)
    text = output.format_findings(findings, arguments.format, report.name, part)
    terminal.write((text if text.endswith("\n") else f"{text}\n").encode(), arguments.output)
    return FOUND if _is_failure(findings, arguments.fail_on) else 0


def _change_threshold(rules: "dict[str, Rule]", text: str) -> "dict[str, Rule]":
    from profiledb.findings import rulebook

    key, equals, value = text.partition("=")
    name, dot, parameter = key.partition(".")
    if not (equals and dot and name in rules):
        raise AnalysisError(
            f"--set takes RULE.PARAMETER=VALUE, not {text!r}.", hint="warpdeck findings --rules lists all rules."
        )
    return rules | {name: rulebook.set_values(rules[name], {parameter: value})}


def _check_names(asked: list[str], rules: "dict[str, Rule]") -> None:
    from profiledb.findings.finding import SEVERITIES

    if unknown := [name for name in asked if name not in rules and name not in SEVERITIES]:
        raise AnalysisError(
            f"--fail-on knows no rule and no severity {unknown[0]!r}.",
            hint="warpdeck findings --rules lists all rules.",
        )


def _is_failure(findings: "list[Finding]", asked: list[str]) -> bool:
    from profiledb.findings.finding import SEVERITIES

    worst = {name for text in asked if text in SEVERITIES for name in SEVERITIES[: SEVERITIES.index(text) + 1]}
    return any(one.verdict == "fires" and (one.rule.name in asked or one.severity in worst) for one in findings)


def _format_rule(rule: "Rule") -> str:
    threshold = next(param.default for param in rule.analysis.params if param.name == "threshold")
    unit = "" if rule.unit in ("ratio", "count") else f" {rule.unit}"
    return f"{rule.name:28} {rule.fires} {threshold}{unit}: {rule.question}"
