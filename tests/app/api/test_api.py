"""The HTTP API: its answers equal the command line's, and every error is a sentence."""

import asyncio
import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from starlette.applications import Starlette
from starlette.testclient import TestClient

from app import page_list
from app.api import routes
from profiledb import spreadsheet
from profiledb.access.cli import main as command
from profiledb.access.operations import answer_context, mcp_tools, openapi
from profiledb.access.operations.operation import FORMATS
from profiledb.access.operations.registry import list_operations
from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.query import header
from tests.conftest import ingest_files
from tests.support import answers as asking
from tests.support import exports, page_analyses

STEPS = "transformer_steps.nsys-rep"
NAMES = (STEPS, "transformer_training.ncu-rep")


@pytest.fixture(scope="module")
def samples(sample_data: Path) -> Library:
    return Library(sample_data / "library")


@pytest.fixture(scope="module")
def client(samples: Library) -> Iterator[TestClient]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WARPDECK_LIBRARY", str(samples.folder))
        with TestClient(Starlette(routes=routes.build_routes()), base_url="http://localhost") as client:
            yield client


def told(client: TestClient, path: str, **params: Any) -> Any:
    answer = client.get(f"{openapi.PREFIX}{path}", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


def printed(library: Library, capfdbinary: pytest.CaptureFixture[bytes], *arguments: str) -> bytes:
    capfdbinary.readouterr()
    status = command.main([*arguments, "--library", str(library.folder)])
    out, err = capfdbinary.readouterr()
    return out if status == 0 else err


def alike(text: bytes) -> str:
    """Numbers with twelve digits: sums over threads differ in the last ones from run to run."""
    return re.sub(r"-?\d+\.\d+(e[+-]?\d+)?", lambda found: f"{float(found[0]):.12g}", text.decode())


ANALYSES = (
    *("kernels", "class_split", "nvtx_tree", "iterations", "idle_gaps", "copies", "api_calls", "report_facts"),
    *("cuda_gpu_kern_sum", "diagnostics", "time_weighted_roofline", "ncu_metrics", "operators", "energy_summary"),
)
"""Numbers, shares, texts, trees, times and empty cells; columns of nsys; two reports; and three of which each misses
another thing: launches, a trace, a log. The road is the same for every analysis."""


def test_an_analysis_answers_what_the_command_line_prints(
    client: TestClient, samples: Library, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """If the report lacks the data of an analysis, both say so."""
    report = samples.find("transformer_training.nsys-rep")
    answered = 0
    for one in map(header.get, ANALYSES):
        params = asking.joined(one)
        given_ = [part for key, value in params.items() for part in ("--param", f"{key}={value}")]
        path = f"{openapi.PREFIX}/reports/{report.id}/analyses/{one.name}"
        answer = client.get(path, params=params)
        said = printed(samples, capfdbinary, "run", one.name, report.id, "--format", "json", *given_)
        if answer.status_code != 200:
            problem = answer.json()
            assert f"{problem['title']} {problem.get('detail', '')}".strip() == said.decode().strip()
            continue
        body = json.loads(alike(answer.content))
        assert body["rows"] == json.loads(alike(said))
        assert (body["total"], body["cut"]) == (len(body["rows"]), False)
        assert [column["name"] for column in body["columns"]] == [column.name for column in one.columns]
        table = client.get(path, params={**params, "format": "csv"})
        assert alike(table.content) == alike(printed(samples, capfdbinary, "run", one.name, report.id, *given_))
        asked = {"report": report.id, "analysis": one.name, "params": params}
        tool = json.loads(alike(mcp_tools.answer(samples, "run_analysis", asked).encode()))
        assert tool["rows"] == body["rows"][: len(tool["rows"])]
        assert len(tool["rows"]) >= min(len(body["rows"]), 5) or "shortened" in tool
        answered += 1
    assert answered == len(ANALYSES) - 3


def test_rows_come_in_four_formats(client: TestClient) -> None:
    path = f"{openapi.PREFIX}/reports/{STEPS}/analyses/kernels"
    answers = {form: client.get(path, params={"format": form, "range": "step_1"}) for form in FORMATS}
    assert all(answers[form].headers["content-type"].startswith(FORMATS[form].split(";")[0]) for form in FORMATS)
    rows = answers["json"].json()["rows"]
    tables = {
        "csv": pd.read_csv(io.BytesIO(answers["csv"].content)),
        "arrow": pa.ipc.open_stream(answers["arrow"].content).read_pandas(),
        "parquet": pq.read_table(io.BytesIO(answers["parquet"].content)).to_pandas(),
    }
    for table in tables.values():
        assert table["total_ns"].tolist() == [row["total_ns"] for row in rows]
        assert table["name"].tolist() == [row["name"] for row in rows]


FORMULAS = ('=HYPERLINK("http://evil.example","x")', "+1+a", "-2+a", "@SUM(1)", "\t=1", "a;=1")
SAFE = ("'" + FORMULAS[0], "'+1+a", "'-2+a", "'@SUM(1)", "'\t=1", "a;'=1")


@pytest.fixture(scope="module")
def formulas(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """A library of a report whose kernels and ranges are named like formulas."""
    folder = tmp_path_factory.mktemp("formulas")
    strings = list(enumerate(FORMULAS, 1))
    made = exports.write(
        folder / "a.sqlite",
        {
            **exports.kernels(*(exports.kernel(10 * at, 10 * at + 5, name=at, correlation=at) for at, _ in strings)),
            "StringIds": (("id", "value"), strings),
        },
    )
    ingest_files(folder / "data", [made])
    return Library(folder / "data" / "library")


def test_a_file_holds_no_formula_and_has_a_safe_name(
    formulas: Library, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The API and every command that writes CSV disarm formulas; numbers stay numbers."""
    monkeypatch.setenv("WARPDECK_LIBRARY", str(formulas.folder))
    (report,) = formulas.list()
    sql = "SELECT demangled AS name, -1.5 AS number FROM kernel_name"
    with TestClient(Starlette(routes=routes.build_routes()), base_url="http://localhost") as client:
        kernels = client.get(f"{openapi.PREFIX}/reports/{report.id}/analyses/kernels", params={"format": "csv"})
        asked = client.get(f"{openapi.PREFIX}/reports/{report.id}/sql", params={"format": "csv", "sql": sql})
        compared = client.get(f"{openapi.PREFIX}/compare", params={"format": "csv", "a": report.id, "b": report.id})
        hostile = client.get(
            f"{openapi.PREFIX}/reports/{report.id}/analyses/..%22%0d%0aX-A: b", params={"format": "csv"}
        )
    assert hostile.status_code == 400
    assert kernels.headers["content-disposition"] == 'attachment; filename="kernels.csv"'
    assert asked.headers["content-disposition"] == 'attachment; filename="ask_sql.csv"'
    assert "content-disposition" not in hostile.headers
    kernels_alone = {"kernels": header.get("kernels")}  # each of the other files is written the same way
    with monkeypatch.context() as patch:
        patch.setattr(header, "list_analyses", lambda: kernels_alone)
        printed(formulas, capfdbinary, "export_stats", report.id, str(tmp_path / "stats"))
    files = {
        "kernels": kernels.content,
        "sql": asked.content,
        "compare": compared.content,
        "run": printed(formulas, capfdbinary, "run", "kernels", report.id),
        "command sql": printed(formulas, capfdbinary, "sql", report.id, sql),
        "command compare": printed(formulas, capfdbinary, "compare", report.id, report.id, "--format", "csv"),
        "export_stats": (tmp_path / "stats" / "kernels.csv").read_bytes(),
    }
    for where, content in files.items():
        cells = {cell for row in csv.reader(io.StringIO(content.decode(), newline="")) for cell in row}
        assert set(SAFE) <= cells, where
        assert not cells & set(FORMULAS), where
    assert "-1.5" in {cell for row in csv.reader(io.StringIO(asked.text)) for cell in row}


@given(text=st.text(alphabet="=+-@＝;\t\r\n a1.e'\"\0\x0b\xa0\u200b\u3000", max_size=12))
def test_sql_defuses_as_python_does(text: str) -> None:
    shown = spreadsheet.build_defused_sql("t")
    (row,) = duckdb.execute(f"SELECT {shown} FROM (SELECT $1 AS t)", [text]).fetchall()
    assert row == (spreadsheet.defuse_text(text),)


def test_an_answer_says_unit_denominator_coverage_and_page(client: TestClient, samples: Library) -> None:
    body = told(client, f"/reports/{STEPS}/analyses/kernels", range="step_1", from_ns="1000000")
    share = next(column for column in body["columns"] if column["name"] == "share_pct")
    assert share["unit"] == "%"
    assert "all kernel durations" in share["meaning"]
    assert 0 < body["coverage"]["gpu_ns"] < body["coverage"]["report_gpu_ns"]
    report = samples.find(STEPS).id
    assert body["page"] == f"/kernels?report={report}&range=step_1&from=1"
    assert told(client, f"/reports/{STEPS}/analyses/kernel_summary", kernel="0")["page"].startswith("/kernel?")
    assert told(client, f"/reports/{STEPS}/analyses/cuda_api_sum")["page"] is None


@pytest.mark.parametrize("name", header.list_analyses())
def test_the_page_of_an_analysis_asks_it(name: str) -> None:
    """The code of the page names the analysis; no page names an analysis without a page."""
    known = header.get(name)
    if known.page:
        assert name in page_analyses.asked(known.page)
    else:
        assert not [view.url for view in page_list.VIEWS if name in page_analyses.asked(view.url)]


def test_the_other_operations_say_what_the_command_line_says(
    client: TestClient, samples: Library, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    ids = [samples.find(name).id for name in ("streams_serial.nsys-rep", STEPS)]
    listed = printed(samples, capfdbinary, "list", "--format", "json")
    assert told(client, "/reports")["reports"] == json.loads(listed)
    found = printed(samples, capfdbinary, "findings", STEPS, "--format", "json")
    answer = told(client, f"/reports/{STEPS}/findings")
    assert {"PyTorch", "training"} <= {one["trait"] for one in answer["program"] if one["evidence"]}
    assert [{**one, "program": answer["program"]} for one in answer["findings"]] == json.loads(found)
    text = printed(samples, capfdbinary, "summary", STEPS).decode()
    assert told(client, f"/reports/{STEPS}/summary")["markdown"] == text
    compared = told(client, "/compare", a=ids[0], b=ids[1])
    assert compared["rows"] == json.loads(printed(samples, capfdbinary, "compare", *ids, "--format", "json"))
    assert compared["verdict"]
    rows = told(client, f"/reports/{STEPS}/sql", sql="SELECT count(*) AS n FROM kernel")["rows"]
    assert rows == [{"n": samples.find(STEPS).rows["kernel"]}]
    facts = told(client, f"/reports/{STEPS}")
    assert facts["rows"]["kernel"] == rows[0]["n"]
    assert {one["name"] for one in told(client, "/analyses")["analyses"]} >= {"kernels", "ncu_verdicts"}
    assert told(client, "/analyses/kernels")["columns"][0]["name"] == "kernel"
    assert isinstance(told(client, "/jobs")["jobs"], list)


WRONG = {
    "/reports/nothing": 404,
    f"/reports/{STEPS}/analyses/nothing": 400,
    f"/reports/{STEPS}/analyses/kernels?nothing=1": 400,
    f"/reports/{STEPS}/analyses/kernels?range=nothing": 400,
    f"/reports/{STEPS}/analyses/kernels?format=exe": 400,
    f"/reports/{STEPS}/analyses/kernels?format=csv&format=json": 400,
    f"/reports/{STEPS}/analyses/ncu_verdicts": 422,
    f"/reports/{STEPS}?format=csv": 400,
    f"/reports/{STEPS}?x=1": 400,
    f"/reports/{STEPS}/sql": 400,
    f"/reports/{STEPS}/sql?sql=COPY+kernel+TO+'x'": 400,
    "/compare": 400,
    f"/compare?a={STEPS}&b=transformer_training.ncu-rep": 400,
    f"/compare?a={STEPS}&b={STEPS}&table=x": 400,
    "/nothing": 404,
    f"/reports?x={'x' * 40_000}": 414,
    f"/reports?{'&'.join(f'a{n}=1' for n in range(300))}": 414,
}


def test_a_report_is_renamed(client: TestClient, samples: Library) -> None:
    report = samples.list()[0]
    path = f"/api/v1/reports/{report.id}/title"
    answer = client.put(path, params={"title": "Baseline, <b>batch 64</b>"})
    assert answer.json() == {"id": report.id, "name": report.name, "title": "Baseline, <b>batch 64</b>"}
    listed = {one["id"]: one["title"] for one in told(client, "/reports")["reports"]}
    assert listed[report.id] == "Baseline, <b>batch 64</b>"
    assert client.put(path, params={"title": "x" * 201}).status_code == 400
    assert client.put("/api/v1/reports/none/title").status_code == 404
    assert client.put(path).json()["title"] is None
    assert samples.find(report.id).shown_name == report.name


def test_what_is_wrong_is_a_sentence(client: TestClient) -> None:
    for path, status in WRONG.items():
        answer = client.get(f"{openapi.PREFIX}{path}")
        assert answer.status_code == status, path
        assert answer.headers["content-type"] == "application/problem+json"
        problem = answer.json()
        assert problem["status"] == status
        assert re.fullmatch(r".+[.:!?]", problem["title"])


def test_pages_of_other_sites_do_not_ask(client: TestClient) -> None:
    for site, status in (("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)):
        answer = client.get(f"{openapi.PREFIX}/reports", headers={"Sec-Fetch-Site": site})
        assert answer.status_code == status


def test_the_description_is_whole(client: TestClient) -> None:
    described = told(client, "/openapi.json")
    gets = {path: one["get"] for path, one in described["paths"].items() if "get" in one}
    assert {one["operationId"] for one in gets.values()} == {*list_operations(), "find_part"}
    for path, one in gets.items():
        parts = [param for param in one["parameters"] if param["in"] == "path"]
        assert {param["name"] for param in parts} == set(re.findall(r"{(\w+)}", path))
        assert all(param["required"] for param in parts)
        for param in one["parameters"]:
            Draft202012Validator.check_schema(param["schema"])


hostile = st.text(max_size=30)


@pytest.mark.parametrize(("ns", "address"), [("", ""), (None, ""), ("1500000", "&from=1.5"), (True, "&from=0.000001")])
def test_an_empty_time_is_none(ns: Any, address: str) -> None:
    """The address of a page accepts the same values as a selection: whole numbers, or nothing."""
    one = Manifest("a", 1, "x", "nsys", "", 1)
    assert answer_context.build_page_address(one, params={"from_ns": ns}) == f"/summary?report=a{address}"


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_client_made_of_the_description_gets_documented_answers(client: TestClient, data: st.DataObject) -> None:
    """Every documented parameter, with fitting and arbitrary values, gets only documented answers."""
    described = openapi.build_description()
    path, one = data.draw(
        st.sampled_from([(path, one["get"]) for path, one in described["paths"].items() if "get" in one])
    )
    known = {"report": st.sampled_from(NAMES), "analysis": st.sampled_from(["gpu_busy", "kernels"])}
    query: dict[str, str] = {}
    for param in one["parameters"]:
        good = known.get(param["name"], st.sampled_from(param["schema"].get("enum", ["SELECT 1"])))
        value = data.draw(good | hostile)
        if param["in"] == "path":
            path = path.replace("{" + param["name"] + "}", quote(value, safe="") or "%20")
        elif param["name"] == "further":
            query |= data.draw(
                st.dictionaries(st.sampled_from(["range", "device", "from_ns", "x\0"]), hostile, max_size=2)
            )
        elif data.draw(st.booleans()):
            query[param["name"]] = value
    answer = client.get(path, params=query)
    assert str(answer.status_code) in one["responses"], answer.text
    kind = answer.headers["content-type"].split(";")[0]
    assert kind in {name.split(";")[0] for name in one["responses"][str(answer.status_code)]["content"]}


def test_tools_are_the_operations_and_bounded(samples: Library) -> None:
    for one in list_operations().values():
        schema = mcp_tools.build_schema(one)
        Draft202012Validator.check_schema(schema)
        assert set(schema["required"]) == {param.name for param in one.params if param.required}
    whole = {"report": STEPS, "analysis": "cuda_gpu_trace", "rows": mcp_tools.MOST_ROWS}
    text = mcp_tools.answer(samples, "run_analysis", whole, "http://127.0.0.1:8501")
    assert len(text) <= mcp_tools.MOST_CHARACTERS
    body = json.loads(text)
    assert body["page"] is None
    busy = {"report": STEPS, "analysis": "gpu_busy"}
    linked = json.loads(mcp_tools.answer(samples, "run_analysis", busy, "http://127.0.0.1:8501"))
    assert linked["page"].startswith("http://127.0.0.1:8501/summary?")
    assert body["total"] > len(body["rows"])
    assert len(mcp_tools.answer(samples, "list_analyses", {})) <= mcp_tools.MOST_CHARACTERS
    assert "shortened" not in json.loads(mcp_tools.answer(samples, "list_analyses", {}))


def test_the_mcp_server_answers_its_own_client(samples: Library) -> None:
    pytest.importorskip("mcp")
    from mcp import Client

    async def talk() -> None:
        async with Client(mcp_tools.create_server(lambda: samples)) as client:
            tools = await client.list_tools()
            assert {tool.name for tool in tools.tools} == set(list_operations())
            answer = await client.call_tool("get_report", {"report": STEPS})
            assert answer.structured_content["rows"]["kernel"] == samples.find(STEPS).rows["kernel"]
            wrong = await client.call_tool("get_report", {"report": "nothing"})
            assert wrong.is_error
            assert "No report is called" in str(wrong.content[0])

    asyncio.run(talk())
