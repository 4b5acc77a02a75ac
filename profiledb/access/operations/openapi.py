"""The description of the HTTP API (OpenAPI 3.1), made from the registry."""

import re
from typing import Any

from profiledb.access.operations.operation import FORMATS, Operation, Param
from profiledb.access.operations.registry import list_operations

PREFIX = "/api/v1"
TITLE_PATH = "/reports/{report}/title"
_JSON = {"application/json": {"schema": {"type": "object"}}}
_PROBLEM = {"$ref": "#/components/schemas/Problem"}
_ERRORS = {
    "400": "The question is wrong; the answer says how.",
    "401": "A token or a login is needed.",
    "403": "The role does not allow this.",
    "404": "There is no such report or address.",
    "414": "The address is too long.",
    "422": "The report lacks what was asked for; the answer says how to capture it.",
    "500": "A file of the library is damaged, or something went wrong.",
    "503": "The database or the bucket cannot be reached now; ask again.",
}


def build_description() -> dict[str, Any]:
    paths: dict[str, Any] = {PREFIX + one.path: {"get": _describe_get(one)} for one in list_operations().values()}
    paths[f"{PREFIX}/uploads"] = {"post": _describe_upload()}
    paths[f"{PREFIX}/uploads/{{sha256}}"] = {"get": _describe_part()}
    paths[f"{PREFIX}{TITLE_PATH}"] = {"put": _describe_rename()}
    schemas = {"Problem": _describe_problem_schema()}
    security = {"token": {"type": "http", "scheme": "bearer"}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Warpdeck", "version": "1", "description": "GPU profile reports, asked by programs."},
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": security},
        "security": [{"token": []}, {}],
    }


def describe_parameter(param: Param, where: str = "query") -> dict[str, Any]:
    """Describe a parameter for OpenAPI."""
    described = {"name": param.name, "in": where, "description": param.help, "schema": build_schema(param)}
    return described | ({"required": True} if param.required else {})


def build_schema(param: Param) -> dict[str, Any]:
    """Return the JSON Schema of a parameter."""
    one: dict[str, Any] = {"type": "string"} | ({"enum": list(param.choices)} if param.choices else {})
    return {"type": "array", "items": one} if param.many else one


def _describe_get(one: Operation) -> dict[str, Any]:
    path_names = set(re.findall(r"{(\w+)}", one.path))
    parameters = [describe_parameter(param, "path" if param.name in path_names else "query") for param in one.params]
    if one.further:
        free = {"type": "object", "additionalProperties": {"type": "string"}}
        about = "parameters of the analysis and of the selection, each by its name"
        parameters.append(
            {"name": "further", "in": "query", "style": "form", "explode": True, "schema": free, "description": about}
        )
    if one.rows:
        parameters.append(describe_parameter(Param("format", "how rows are told", choices=tuple(FORMATS))))
    kinds = list(FORMATS.values()) if one.rows else ["application/json"]
    content = {kind: {"schema": {"type": "object"} if kind == "application/json" else {}} for kind in kinds}
    return {
        "operationId": one.name,
        "summary": one.title,
        "description": one.help,
        "parameters": parameters,
        "responses": {"200": {"description": one.title, "content": content}, **_describe_problems()},
    }


def _describe_upload() -> dict[str, Any]:
    name = Param("name", "name of the file; a file beside a report has the report's name", required=True)
    space = Param("space", "space for the report; everybody's without one")
    sha256 = Param("sha256", "SHA-256 of the whole file in hexadecimal: the upload can be resumed, and is checked")
    offset = Param("offset", "bytes of the file that have arrived before; the body is the rest")
    return {
        "operationId": "upload",
        "summary": "Upload a file",
        "description": "Puts a file into the inbox. list_jobs reports its progress. Needs the role editor.",
        "parameters": [describe_parameter(one) for one in (name, space, sha256, offset)],
        "requestBody": {"required": True, "content": {"application/octet-stream": {"schema": {}}}},
        "responses": {
            "202": {
                "description": "It is in the inbox.",
                "content": {"application/json": {"schema": {"type": "object"}}},
            },
            **_describe_problems("409", "411", "413", "415", "507"),
        },
    }


def _describe_part() -> dict[str, Any]:
    sha256 = Param("sha256", "SHA-256 of the whole file in hexadecimal", required=True)
    return {
        "operationId": "find_part",
        "summary": "How much of an upload has arrived",
        "description": "Says how many bytes of a file arrived before its upload broke off, within an hour.",
        "parameters": [describe_parameter(sha256, "path")],
        "responses": {"200": {"description": "The number of bytes.", "content": _JSON}, **_describe_problems("404")},
    }


def _describe_rename() -> dict[str, Any]:
    report = Param("report", "id of the report, the start of its id, or one of its names", required=True)
    title = Param("title", "the new name; without one the report has that of its file again")
    return {
        "operationId": "rename_report",
        "summary": "Rename a report",
        "description": "Gives a report a name for people; its file keeps its own. Needs the role editor.",
        "parameters": [describe_parameter(report, "path"), describe_parameter(title)],
        "responses": {"200": {"description": "The report with its names.", "content": _JSON}, **_describe_problems()},
    }


def _describe_problems(*more: str) -> dict[str, Any]:
    problems = dict.fromkeys(more, "The file cannot be taken; the answer says why.") | _ERRORS
    content = {"application/problem+json": {"schema": _PROBLEM}}
    return {status: {"description": text, "content": content} for status, text in problems.items()}


def _describe_problem_schema() -> dict[str, Any]:
    texts = {name: {"type": "string"} for name in ("type", "title", "detail")}
    return {"type": "object", "required": ["title", "status"], "properties": texts | {"status": {"type": "integer"}}}
