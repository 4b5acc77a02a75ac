"""The answers of a report's pages as Markdown; names and whatever else a report says stand as code.

Every figure is one of an analysis, in the words of the pages. A section is a function from ``Answers`` to its text:
what this report does not have raises NotCapturedError, and is told at the end.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from profiledb import analysis, captures, classes, config, selection, words
from profiledb.catalog import Manifest
from profiledb.errors import NotCapturedError
from profiledb.library import Library

_KINDS = {"nsys": "Nsight Systems", "ncu": "Nsight Compute"}


@dataclass(frozen=True)
class Answers:
    """What the analyses answer for a report and a selection of it (profiledb.selection)."""

    library: Library
    report: Manifest
    params: Mapping[str, Any] = field(default_factory=dict)

    def rows(self, name: str, **params: Any) -> pd.DataFrame:
        """The rows of an analysis, of the selected part where it looks at one; raises NotCapturedError."""
        chosen = self.params if analysis.get(name).selects else {}
        return analysis.run(self.library, self.report.id, name, {**chosen, **params})

    def rows_or_none(self, name: str, **params: Any) -> pd.DataFrame:
        """The same; no rows and no columns where the report does not have the data."""
        try:
            return self.rows(name, **params)
        except NotCapturedError:
            return pd.DataFrame()


Section = Callable[[Answers], str]


def text(library: Library, report: Manifest, params: Mapping[str, Any]) -> str:
    """The summary of a report, of the part that ``params`` selects.

    Raises:
        AnalysisError: the parameters are not those of a selection, or the report has no such range.
        ReportNotFoundError: the report is gone.
    """
    from profiledb import summary_ncu, summary_nsys

    selection.parse(params)
    answers = Answers(library, report, params)
    sections = summary_ncu.SECTIONS if report.kind == "ncu" else summary_nsys.SECTIONS
    parts, reasons = [_about(answers)], []
    for section in sections:
        try:
            parts.append(section(answers))
        except NotCapturedError as error:
            reasons.append(_reason(error))
    parts.append(_lacks(answers, list(dict.fromkeys(reasons))))
    return "\n\n".join(part for part in parts if part) + "\n"


def page_params(library: Library, report: Manifest, given: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters by which the pages show a report unless told otherwise, and over them those that are given."""
    if report.kind != "nsys":
        return dict(given)
    paths = Answers(library, report).rows_or_none("range_paths")
    warmup = not paths.empty and bool(paths["is_warmup"].any())
    return selection.as_params(selection.usual(warmup=warmup)) | dict(given)


def table(rows: Sequence[Mapping[str, str]]) -> str:
    """Rows as a Markdown table, with the keys of the first as its head; the texts are Markdown already."""
    head = list(rows[0])
    lines = [head, ["---"] * len(head), *(list(row.values()) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def name(value: Any, length: int = 80) -> str:
    """A name as code for a cell of a table."""
    return words.code(words.shortened(value, length), cell=True) if isinstance(value, str) else words.MISSING


def class_title(value: str) -> str:
    """What people read for a kernel class."""
    known = {one.name: one.title for one in classes.load(config.load().classes)}
    return words.plain(known.get(value, value))


def _about(answers: Answers) -> str:
    """What was captured, with what, on what, and which part of it this is."""
    report, facts = answers.report, answers.rows("report_facts").iloc[0]
    told = {
        "Captured with": " ".join(
            part for part in (report.tool or _KINDS.get(report.kind), report.tool_version) if part
        ),
        "Captured at": words.when(report.captured_at) if report.captured_at else None,
        "Length": words.duration(report.duration_ns) if report.duration_ns else None,
        "Command": facts["command"],
        "GPUs": f"{words.count(facts['gpus'])} × {facts['gpu_names']}"
        if isinstance(facts["gpu_names"], str)
        else report.gpu,
        "Driver": facts["driver_version"],
        "CUDA": facts["cuda_version"],
        "System": facts["os"],
        "Processor": facts["cpu"],
        "Read with": facts["converter"],
    }
    lines = [f"# Summary of {words.code(report.name)}", ""]
    lines += [f"- {label}: {words.code(value)}" for label, value in told.items() if isinstance(value, str) and value]
    if report.kind == "nsys":
        lines.append(f"- Selection: {_selection(answers.params)}")
    for _, row in answers.rows("diagnostics").iterrows():
        if row["source"] == "warpdeck" and row["severity"] != "info":
            lines.append(f"- {words.plain(row['text'])}")
    return "\n".join(lines)


def _selection(params: Mapping[str, Any]) -> str:
    """The parameters of the selection, as the command line takes them."""
    pairs = [
        f"{key}={one}"
        for key, value in params.items()
        for one in ((value,) if isinstance(value, str) else tuple(value))
    ]
    return ", ".join(map(words.code, pairs)) or "everything, launches by thread"


def _reason(error: NotCapturedError) -> str:
    """Why something is not there, and the flag as code; the words are our own (captures.py)."""
    before, flag, command = error.hint.partition("Capture with: ")
    return f"- {error.message} {before}{flag}{words.code(command) if command else ''}".rstrip()


def _lacks(answers: Answers, reasons: list[str]) -> str:
    """What this capture does not have, what it would be good for, and the flag; nothing twice."""
    with answers.library.cursor(answers.report.id) as cursor:
        missing = captures.missing(cursor, answers.report.kind)
    silent = any(captures.NOTHING_RAN in line for line in reasons)  # the flag was there: it is no advice
    lines = [
        f"- {one.title}, for {one.use}: {words.code(one.flag)}"
        for one in missing
        if not (silent and one.table in captures.GPU_SIDE)
        and not any(line.startswith(f"- {one.title}: ") for line in reasons)
    ]
    return "\n".join(["## Not in this capture", "", *reasons, *lines]) if reasons or lines else ""
