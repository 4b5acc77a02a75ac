"""The summary of a report as Markdown; names and other texts from a report are formatted as code.

Every figure comes from an analysis and is worded as on the pages. A section is a function from ``Answers`` to its text;
it raises NotCapturedError for missing data, which the end of the summary lists.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from profiledb import words
from profiledb.errors import NotCapturedError
from profiledb.findings import judge, sentences
from profiledb.library.catalog import LAUNCHES, TIMELINE, Manifest
from profiledb.library.library import Library
from profiledb.query import captures, views
from profiledb.query.analysis import rows_or_none
from profiledb.selection import model
from profiledb.studies.summary import memory, ncu, nsys, paths
from profiledb.studies.summary.answers import Answers

_SECTIONS = {TIMELINE: nsys.SECTIONS, LAUNCHES: ncu.SECTIONS}


def write_summary(library: Library, report: Manifest, params: Mapping[str, Any], *, startup: bool = False) -> str:
    """Return the summary of a report, for the selection ``params``.

    If the selection has steps and no chosen ranges or times, the summary covers the steps only, because work done once
    is not part of them. With ``startup`` it covers the whole selection.

    Raises:
        AnalysisError: the parameters are not those of a selection, or the report has no such range.
        ReportNotFoundError: the report is gone.
    """
    model.parse(params)
    answers = Answers(library, report, params, None if startup else judge.find_steady_part(library, report, params))
    sections = [one for subject, all_ in _SECTIONS.items() if subject in report.subjects for one in all_]
    if memory.is_snapshot_only(report):
        sections = list(memory.SECTIONS)
    elif paths.has_sums_only(report):
        sections = list(paths.SECTIONS)
    parts = [_describe_capture(answers)]
    errors: list[NotCapturedError] = []
    for section in sections:
        try:
            parts.append(section(answers))
        except NotCapturedError as error:
            errors.append(error)
    parts.append(_list_missing(answers, errors))
    return "\n\n".join(part for part in parts if part) + "\n"


def get_page_params(library: Library, report: Manifest, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the default parameters of the pages for a report, overridden by the given ones."""
    if TIMELINE not in report.subjects:
        return dict(given)
    paths = rows_or_none(Answers(library, report).rows, "range_paths")
    warmup = not paths.empty and bool(paths["is_warmup"].any())
    return model.to_params(model.get_default(warmup=warmup)) | dict(given)


def _describe_capture(answers: Answers) -> str:
    """Describe the capture, its tool, its machine, and the part covered."""
    report, facts = answers.report, answers.rows("report_facts").iloc[0]
    entries = {
        "Captured with": " ".join(
            part for part in (report.tool or words.KIND_TITLES.get(report.kind), report.tool_version) if part
        ),
        "Captured at": words.when(report.captured_at) if report.captured_at else None,
        "Length": words.duration(report.duration_ns) if report.duration_ns else None,
        "Command": facts["command"],
        "GPUs": facts["gpu_list"] if isinstance(facts["gpu_list"], str) else report.gpu,
        "Driver": facts["driver_version"],
        "CUDA": facts["cuda_version"],
        "System": facts["os"],
        "Processor": facts["cpu"],
        "Read with": facts["converter"],
    }
    lines = [f"# Summary of {words.code(report.name)}", ""]
    lines += [f"- {label}: {words.code(value)}" for label, value in entries.items() if isinstance(value, str) and value]
    if TIMELINE in report.subjects:
        lines.append(f"- Selection: {_format_selection(answers.params)}")
    if answers.part:
        lines.append(f"- Steady part: {sentences.describe_covered(answers.part)}")
    for _, row in answers.rows("diagnostics").iterrows():
        if row["source"] == "warpdeck" and row["severity"] != "info":
            lines.append(f"- {words.plain(row['text'])}")
    return "\n".join(lines)


def _format_selection(params: Mapping[str, Any]) -> str:
    """Format the parameters of the selection as for the command line."""
    pairs = [
        f"{key}={one}"
        for key, value in params.items()
        for one in ((value,) if isinstance(value, str) else tuple(value))
    ]
    return ", ".join(map(words.code, pairs)) or "everything; launches by the range's own thread"


def _format_reason(error: NotCapturedError) -> str:
    """Return the reason for missing data; the words are our own (captures.py)."""
    return " ".join(part for part in (f"- {error.message}", error.why) if part)


def _list_missing(answers: Answers, errors: Sequence[NotCapturedError]) -> str:
    """List the missing data of this capture with its use, each once, and the command that records all of it."""
    with answers.library.cursor(answers.report.id, views=views.list_needed(captures.INCLUDES)) as cursor:
        missing = captures.list_missing(cursor)
    explained = {table for error in errors for table in error.tables}
    reasons = list(dict.fromkeys(map(_format_reason, errors)))
    rest = [one for one in missing if one.table not in explained]
    lines = [f"- {one.title}, for {one.use}{'.' if one.command else f': {one.none}'}" for one in rest]
    if not (reasons or lines):
        return ""
    commands = captures.join_commands([*(one.command for one in errors), *(one.command for one in rest)])
    record = [f"To record this: {words.code(command)}" for command in commands]
    return "\n".join(["## Not in this capture", "", *reasons, *lines, *(["", *record] if record else [])])
