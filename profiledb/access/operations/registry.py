"""All operations. Each calls the code behind a command; the HTTP API and the MCP server are made from this list."""

from dataclasses import asdict
from functools import cache
from typing import Any

from profiledb import config
from profiledb.access.operations import answer_context
from profiledb.access.operations.operation import Operation, Param, Result, Values
from profiledb.errors import AnalysisError
from profiledb.library.library import Library
from profiledb.selection import model

SQL = "ask_sql"
_MOST_DIGITS = 12
_REPORT = Param("report", "id of the report, the start of its id, or its file name", required=True)
_STARTUP = Param("startup", "yes: time before and after the steps counts, too", choices=("no", "yes"))
_ANALYSIS = Param("analysis", "name of the analysis", required=True)
_OWN = frozenset({"startup", "report", "analysis", "a", "b", "table", "basis", "verdict", "recipe", "per", "other"})


def _select_further(values: Values) -> dict[str, Any]:
    """Return the parameters of the analysis and of the selection."""
    return {name: value for name, value in values.items() if name not in _OWN}


def _answer_reports(library: Library, _: Values) -> Result:
    from profiledb.access.cli.list import list_entries

    return Result({"reports": list_entries(library.catalog)})


def _answer_report(library: Library, values: Values) -> Result:
    from profiledb.query import analysis

    one = library.find(str(values["report"]))
    facts = analysis.run(library, one.id, "report_facts").iloc[0].dropna()
    plain_facts = {name: value.item() if hasattr(value, "item") else value for name, value in facts.items()}
    rest = {
        "facts": plain_facts,
        "rows": dict(one.rows),
        "coverage": answer_context.describe_coverage(library, one, {}),
        "page": answer_context.build_page_address(one),
    }
    return Result(answer_context.describe_report(one) | rest)


def _answer_analyses(_: Library, values: Values) -> Result:
    from profiledb.query import header

    topic = values.get("topic")
    described = [
        {
            "name": one.name,
            "title": one.title,
            "topic": one.topic,
            "parameters": [param.name for param in one.params],
            "selects": one.by_part,
        }
        for one in header.list_analyses().values()
        if topic in (None, one.topic)
    ]
    return Result({"analyses": described, "selection": dict(model.HELP)})


def _answer_description(_: Library, values: Values) -> Result:
    from profiledb.access.cli.analyses import list_entries
    from profiledb.query import header

    name = header.get(str(values["analysis"])).name
    return Result(next(entry for entry in list_entries() if entry["name"] == name))


def _answer_analysis(library: Library, values: Values) -> Result:
    import io

    from profiledb.query import analysis, header, output

    one, name, params = library.find(str(values["report"])), str(values["analysis"]), _select_further(values)
    asked = header.get(name)
    rows = analysis.run(library, one.id, name, params)

    def csv() -> bytes:
        out = io.BytesIO()
        output.write_csv(library, one, name, params, out)
        return out.getvalue()

    return Result(answer_context.describe_analysis_context(library, one, asked, params), rows, csv)


def _answer_findings(library: Library, values: Values) -> Result:
    from profiledb.findings import judge, output, program, rulebook
    from profiledb.studies.summary.document import get_page_params

    one, verdict = library.find(str(values["report"])), values.get("verdict")
    params, steady = get_page_params(library, one, _select_further(values)), values.get("startup") != "yes"
    part = judge.find_steady_part(library, one, params) if steady else None
    findings = judge.judge(library, one, params, rulebook.load(config.load().rules).values(), part)
    records = [output.record(finding) for finding in findings if verdict in (None, finding.verdict)]
    units = {
        "saving_ns": "ns",
        "saving_pct": "%",
        "of": "the time of the selection; savings overlap, so never add them, but own_saving_ns",
    }
    return Result(
        {
            "report": answer_context.describe_report(one),
            "parameters": params,
            "judged": asdict(part) if part else None,
            "program": program.list_records(judge.get_program(findings)),
            "units": units,
            "findings": records,
            "coverage": answer_context.describe_coverage(library, one, params),
            "page": answer_context.build_page_address(one, "findings", params),
        }
    )


def _answer_what_if(library: Library, values: Values) -> Result:
    from profiledb.replay import output, prediction
    from profiledb.studies.scaling.family import find_ranks

    one, asked = library.find(str(values["report"])), values.get("change", ())
    changes = prediction.parse((asked,) if isinstance(asked, str) else asked)
    return Result(output.record(one, prediction.predict(library, one.id, changes, find_ranks(library, one))))


def _answer_critical_path(library: Library, values: Values) -> Result:
    import pandas as pd

    from profiledb.replay import path_table
    from profiledb.studies.scaling.family import find_ranks

    one, step = library.find(str(values["report"])), values.get("step")
    if step is not None and not (str(step).isdecimal() and len(str(step)) <= _MOST_DIGITS):
        raise AnalysisError("step is the number of a step.")
    by = str(values.get("by", "kernel"))
    table = path_table.read_path(
        library, one.id, by, None if step is None else int(str(step)), find_ranks(library, one)
    )
    content = path_table.record(one, table)
    rows = pd.DataFrame(content.pop("rows"), columns=[*path_table.COLUMNS])
    counts = [name for name in path_table.COLUMNS if name not in ("kind", "name", "share_pct")]
    rows[counts] = rows[counts].astype("Int64")
    return Result(content | {"page": answer_context.build_page_address(one, "what_if")}, rows)


def _list_runs(library: Library, _: Values) -> Result:
    from profiledb.studies import run_lookup

    return Result({"runs": [run_lookup.describe_briefly(one) for one in run_lookup.list_runs(library)]})


def _get_run(library: Library, values: Values) -> Result:
    from profiledb.studies import run_lookup

    one = library.find(str(values["report"]))
    run = run_lookup.require_run(library, one.id)
    page = {"page": answer_context.build_page_address(one, "run")}
    return Result(run_lookup.describe(library, run) | page)


def _run_recipe(library: Library, values: Values) -> Result:
    from profiledb import spreadsheet
    from profiledb.studies import run_lookup
    from profiledb.studies.runs import recipes

    one = library.find(str(values["report"]))
    run, name = run_lookup.require_run(library, one.id), str(values["recipe"])
    other = run_lookup.require_run(library, library.find(str(values["other"])).id) if "other" in values else None
    rows = recipes.run_recipe(
        library, run, name, _select_further(values), by_rank=values.get("per") == "rank", without=other
    )
    page = {"page": answer_context.build_page_address(one, "run")}
    return Result(run_lookup.describe_briefly(run) | page, rows, lambda: spreadsheet.format_csv(rows).encode())


def _answer_comparison(library: Library, values: Values) -> Result:
    from profiledb.studies import row_text
    from profiledb.studies.compare import answer, columns, matching, verdict

    reports = [library.find(str(values[name])) for name in ("a", "b")]
    table, params = str(values.get("table", "kernels")), _select_further(values)
    a, b = (answer.gather_side(library, one, params) for one in reports)
    basis = matching.choose_basis(a, b, str(values.get("basis", "auto")))
    if table == "kernels":
        answer.require_kernels(reports, [a, b])
    rows = answer.make_table(table, a, b, basis)
    sentences = [
        verdict.state_headline(a, b),
        verdict.state_figures(a, b),
        verdict.explain_change(a, b),
        verdict.state_outside(a, b),
    ]
    content = {
        "a": answer_context.describe_report(reports[0]),
        "b": answer_context.describe_report(reports[1]),
        "basis": basis,
        "verdict": [sentence for sentence in sentences if sentence],
        "different_gpus": matching.has_other_gpus(a, b),
        "columns": answer_context.describe_columns(columns.TABLES[table]),
        "coverage": {
            name: answer_context.describe_coverage(library, one, params)
            for name, one in zip("ab", reports, strict=True)
        },
        "page": answer_context.build_page_address(reports[0], "compare", other=reports[1].id),
    }
    return Result(content, rows, lambda: row_text.format_csv(rows, columns.TABLES[table]).encode())


def _answer_summary(library: Library, values: Values) -> Result:
    from profiledb.studies.summary import document

    one = library.find(str(values["report"]))
    params, startup = document.get_page_params(library, one, _select_further(values)), values.get("startup") == "yes"
    text = document.write_summary(library, one, params, startup=startup)
    return Result(
        {
            "report": answer_context.describe_report(one),
            "markdown": text,
            "page": answer_context.build_page_address(one),
        }
    )


def _answer_sql(library: Library, values: Values) -> Result:
    from profiledb.console import answer_file, question_limits
    from profiledb.console.question_process import ask
    from profiledb.query.analysis import convert_frame

    one, sql = library.find(str(values["report"])), str(values["sql"])
    answer = ask(library, one.id, sql, question_limits.read_page_limits(config.load()))
    content = {
        "report": answer_context.describe_report(one),
        "sql": sql,
        "columns": [{"name": field.name, "type": str(field.type)} for field in answer.rows.schema],
        "more": answer.cut,
        "page": answer_context.build_page_address(one, "sql"),
    }
    return Result(content, convert_frame(answer.rows), lambda: answer_file.encode_rows(answer.rows, "csv"))


def _answer_jobs(library: Library, values: Values) -> Result:
    wanted = values.get("name")
    listed = library.catalog.jobs()
    names = ("name", "state", "report_id", "message", "hint", "changed_at", "seconds")
    records = [{name: getattr(job, name) for name in names} for job in listed if wanted in (None, job.name)]
    return Result({"jobs": records[:1_000]})


_SELECTING = "Further parameters are those of the selection: range, warmup, mode, within, device, stream ..."


def _list_library_operations() -> tuple[Operation, ...]:
    """Return the operations on the library, and on two of its reports."""
    from profiledb.access.cli.compare import BASES, TABLES

    return (
        Operation(
            "list_reports", "/reports", "List the reports",
            "Every report with its GPU, time of capture and labels, and files that are being read or failed.", (),
            _answer_reports,
        ),
        Operation(
            "list_analyses", "/analyses", "List the analyses",
            "The name of each analysis and its parameters, and the parameters of a selection, which most analyses also"
            " take.", (Param("topic", "only those of a topic"),), _answer_analyses,
        ),
        Operation(
            "describe_analysis", "/analyses/{analysis}", "Describe an analysis",
            "Its answer, its parameters with defaults and choices, and its columns with units.", (_ANALYSIS,),
            _answer_description,
        ),
        Operation(
            "compare_reports", "/compare", "Compare two Systems reports",
            f"What changed from a to b: sentences, and each kernel beside its match. {_SELECTING}",
            (
                Param("a", "report before the change", required=True),
                Param("b", "report after the change", required=True),
                Param("table", "rows to return", choices=TABLES),
                Param("basis", "basis of the comparison", choices=BASES),
            ),
            _answer_comparison, further=True, rows=True,
        ),
        Operation(
            "list_runs", "/runs", "List the runs on several GPUs",
            "A run is all ranks of one job: its name, ranks, nodes, GPUs, start and mean step time, in ns.", (),
            _list_runs,
        ),
        Operation(
            "list_jobs", "/jobs", "List files and their progress",
            "Files that were dropped or uploaded: waiting, converting, ready (with the id of the report), or failed.",
            (Param("name", "only files of this name"),), _answer_jobs,
        ),
    )  # fmt: skip


def _list_replay_operations() -> tuple[Operation, ...]:
    """Return the operations on the replay of a report."""
    return (
        Operation(
            "get_what_if", "/reports/{report}/whatif", "Predict how long the program would take with a change",
            "The steps of the program are replayed with each change, and with all of them together; without any, with"
            " every change that applies, the best first. Lengths in ns, with an interval; slack and critical path.",
            (_REPORT, Param("change", "NAME or NAME=VALUE, as docs/whatif.md lists them", many=True)), _answer_what_if,
        ),
        Operation(
            "get_critical_path", "/reports/{report}/critical_path", "Say what the length of the steps consists of",
            "What each kernel and call, range or operator takes of the critical path of the steps, or of one, with the"
            " slack of the rest: how late each may be before the steps take longer. Times in ns.",
            (
                _REPORT, Param("by", "what the rows are", choices=("kernel", "range", "operator")),
                Param("step", "number of one step; without it all that are replayed"),
            ), _answer_critical_path,
            rows=True,
        ),
    )  # fmt: skip


def _list_report_operations() -> tuple[Operation, ...]:
    return (
        Operation(
            "get_report", "/reports/{report}", "Describe a report",
            "The capture, its tool and machine, the number of rows of each table, and the data that the capture lacks.",
            (_REPORT,), _answer_report,
        ),
        Operation(
            "run_analysis", "/reports/{report}/analyses/{analysis}", "Run an analysis on a report",
            f"Rows with the unit and meaning of each column, and how much of the report they cover. {_SELECTING}",
            (_REPORT, _ANALYSIS), _answer_analysis, further=True, rows=True,
        ),
        Operation(
            "get_findings", "/reports/{report}/findings", "Say what holds a report back",
            f"Every rule with its verdict, what it costs, evidence and advice. {_SELECTING}",
            (
                _REPORT, Param("verdict", "only these", choices=("fires", "clear", "cannot_judge")),
                _STARTUP,
            ), _answer_findings,
            further=True,
        ),
        Operation(
            "get_run", "/reports/{report}/run", "Say which rank holds up a run",
            "The run that a report belongs to: its ranks, missing ones, the straggler with its cause, and the clocks of"
            " the ranks. Times in ns.", (_REPORT,), _get_run,
        ),
        Operation(
            "run_recipe", "/reports/{report}/run/recipes/{recipe}", "Run a recipe of nsys on all ranks of a run",
            f"A summary over the ranks of the run that a report belongs to, or the rows of each. {_SELECTING}",
            (
                _REPORT, Param("recipe", "name of a recipe of nsys, or of an analysis", required=True),
                Param("per", "rank: a row per name and rank of a summary", choices=("name", "rank")),
                Param("other", "a report of another run, whose numbers of a summary are subtracted"),
            ), _run_recipe,
            further=True, rows=True,
        ),
        Operation(
            "get_summary", "/reports/{report}/summary", "Summarize a report in Markdown",
            f"The figures of all pages, with the three statements that matter most. {_SELECTING}",
            (_REPORT, _STARTUP), _answer_summary,
            further=True,
        ),
        Operation(
            SQL, "/reports/{report}/sql", "Ask a report a question in SQL",
            "One SELECT in DuckDB's dialect on the tables of the report, read only. SHOW TABLES lists the tables;"
            " times are in ns, sizes in bytes.", (_REPORT, Param("sql", "one SELECT", required=True)), _answer_sql,
            rows=True,
        ),
    )  # fmt: skip


@cache
def list_operations() -> dict[str, Operation]:
    """Return all operations by name."""
    every = (*_list_library_operations(), *_list_report_operations(), *_list_replay_operations())
    return {one.name: one for one in every}


def get(name: str) -> Operation:
    """Return an operation by name; raises AnalysisError if it is unknown."""
    try:
        return list_operations()[name]
    except KeyError:
        raise AnalysisError(f"There is no operation {name!r}.") from None
