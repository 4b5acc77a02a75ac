"""The command line of the library, in process."""

import csv
import io
import json
from dataclasses import replace

import pytest

from profiledb import words
from profiledb.access.cli import main as cli
from profiledb.errors import ReportNotFoundError
from profiledb.library.catalog import Job
from profiledb.library.library import Library
from tests.profiledb.library.test_library import publish


def run(library: Library, capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    capsys.readouterr()
    status = cli.main([*argv, "--library", str(library.folder)])
    return status, *capsys.readouterr()


def test_list_as_json_and_as_text(empty_library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = publish(empty_library, "aaaa000000000001")
    empty_library.catalog.set_labels(manifest.id, ["week 12"])
    (entry,) = json.loads(run(empty_library, capsys, "list", "--format", "json")[1])
    assert {key: entry[key] for key in ("id", "name", "kind", "status", "labels")} == {
        "id": manifest.id,
        "name": "a.sqlite",
        "kind": "nsys",
        "status": "ready",
        "labels": ["week 12"],
    }
    assert entry["source_sha256"] == manifest.source_sha256
    assert "week 12" in run(empty_library, capsys, "list")[1]


def test_a_report_is_renamed_and_found_by_either_name(
    empty_library: Library, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = publish(empty_library, "aaaa000000000001")
    hostile = "Baseline \x1b[31m\n 'batch 64'; DROP TABLE report"
    assert run(empty_library, capsys, "rename", "a.sqlite", hostile)[0] == 0
    (entry,) = json.loads(run(empty_library, capsys, "list", "--format", "json")[1])
    assert (entry["name"], entry["title"]) == ("a.sqlite", " ".join(words.visible(hostile).split()))
    listed = run(empty_library, capsys, "list")[1]
    assert "\x1b" not in listed
    assert "Baseline" in listed
    for name in (entry["title"], "a.sqlite"):
        assert empty_library.find(name).id == manifest.id
    assert json.loads(empty_library.find("a.sqlite").to_json())["title"] == "", "the file keeps its own name"
    assert run(empty_library, capsys, "rename", "a.sqlite", "x" * 201)[0] == 1
    assert run(empty_library, capsys, "rename", entry["title"])[0] == 0
    assert empty_library.find("a.sqlite").title == ""
    with pytest.raises(ReportNotFoundError):
        empty_library.find(entry["title"])


def test_a_name_does_nothing_on_the_terminal(empty_library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = publish(empty_library, "aaaa000000000001")
    empty_library.catalog.add_report(replace(manifest, name="a\x1b]0;owned\x07\n\x9b31m.sqlite"))
    empty_library.catalog.put_job(Job("/inbox/b", "b\x1b[2J\n.csv", "1", "failed", message="c\x1b[1m"))
    out = run(empty_library, capsys, "list")[1]
    assert out.count("\n") == 2
    assert not set("\x1b\x07\x9b") & set(out)
    for argv in (("run", "class_split", "\x1b[1mno\n"), ("link", "aaaa", "no\x1b[1m"), ("summary", "\x1b[1m")):
        status, out, err = run(empty_library, capsys, *argv)
        assert (status, out, err.count("\n"), "\x1b" in err) == (1, "", 1, False)


def test_run_prints_csv_and_json(empty_library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    publish(empty_library, "aaaa000000000001", durations=(10, 20, 30))
    status, out, _ = run(empty_library, capsys, "run", "cuda_gpu_kern_sum", "aaaa", "--param", "by=short")
    assert status == 0
    header, row = csv.reader(io.StringIO(out))
    assert dict(zip(header, row, strict=True)) == {
        "Time (%)": "100.0",
        "Total Time (ns)": "60",
        "Instances": "3",
        "Avg (ns)": "20.0",
        "Med (ns)": "20.0",
        "Min (ns)": "10",
        "Max (ns)": "30",
        "StdDev (ns)": "10.0",
        "Name": "k",
    }
    (row_json,) = json.loads(run(empty_library, capsys, "run", "class_split", "a.sqlite", "--format", "json")[1])
    assert row_json == {"class": "other", "total_ns": 60, "share_pct": 100.0, "calls": 3}


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("run", "class_split", "nothing"), "No report is called"),
        (("run", "nothing", "aaaa"), "No analysis is called"),
        (("run", "nvtx_sum", "aaaa"), "warpdeck profile -- PROGRAM"),
        (("run", "class_split", "aaaa", "--param", "x"), "NAME=VALUE"),
    ],
)
def test_errors_are_one_line_and_status_1(
    empty_library: Library, capsys: pytest.CaptureFixture[str], argv: tuple[str, ...], words: str
) -> None:
    publish(empty_library, "aaaa000000000001")
    status, out, err = run(empty_library, capsys, *argv)
    assert (status, out, words in err, err.count("\n")) == (1, "", True, 1)


def test_analyses_lists_what_there_is(empty_library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    text = run(empty_library, capsys, "analyses")[1]
    assert "cuda_gpu_kern_sum" in text
    assert "by = demangled" in text
    listed = json.loads(run(empty_library, capsys, "analyses", "--format", "json")[1])
    assert {"cuda_gpu_kern_sum", "class_split"} <= {entry["name"] for entry in listed}
    assert all(entry["title"] and entry["columns"] for entry in listed)
