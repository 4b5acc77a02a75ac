"""Write docs/coverage.md: Warpdeck's accuracy on the reports of folders, against the output of nsys and ncu.

python scripts/coverage_table.py [FOLDER ...]

The default folders are ../shared/corpus and sample_reports. A separate worker imports each report, and its processor
time is shown as seconds; nsys and ncu must be installed. Every difference is named; differences that the header of an
analysis documents count as deliberate (tests/support/deliberate_differences.py).
"""

import argparse
import re
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from ingest import tools  # noqa: E402
from ingest.ncu import cli, container, wheel  # noqa: E402
from profiledb import words  # noqa: E402
from profiledb.errors import NotCapturedError, WarpdeckError  # noqa: E402
from profiledb.library.catalog import Job, Manifest  # noqa: E402
from profiledb.library.library import Library  # noqa: E402
from profiledb.query import analysis  # noqa: E402
from profiledb.report.file_names import NSYS_ENDINGS  # noqa: E402
from tests.support import deliberate_differences, ncu_agree, nsys_oracle, step_set  # noqa: E402

TARGET = ROOT / "docs" / "coverage.md"
FOLDERS = (ROOT.parent / "shared" / "corpus", ROOT / "sample_reports")
ENDINGS = (".nsys-rep", ".qdrep", ".qdstrm", ".ncu-rep", ".sqlite", ".csv", ".json", ".gz")
BESIDE = (".timings.csv", ".nvml.csv", ".tasks.csv", ".energy.csv", ".meta.json")
"""Endings of files beside a report that are no reports."""
HEAD = """\
# Accuracy on everyone's reports

Made by `{command}` in {seconds} of processor time: every report of these folders is taken in, and its figures are
compared with those of {tools}, cell by cell and as text. A pair is a report of `nsys stats` or a rule of `nsys analyze`
beside the analysis of its name, if either has rows; for samples that a newer nsys made, its printout lies beside
them. *Deliberate* differences are told in the header of the analysis. Values of ncu are metrics and rows of its details
page. *Other* is the share of kernel time in kernels of no class. Steps are those that kernels alone tell, against the
truth in `tests/data/steps.toml`.
"""
TABLE = "| Report | Captured with | Kernels | Pairs equal | Deliberate | ncu values equal | Other | Steps | Seconds |"


NEWER = "made by a newer nsys than the installed one, which prints otherwise or not at all: nothing to compare with"
_WRITTEN_BY = re.compile(r"written by nsys (\d+)\.(\d+)\.(\d+)")


@dataclass
class Row:
    """Results of a report: counts of pairs and values, and unexplained differences, a line each."""

    name: str
    captured: str
    kernels: int = 0
    equal: int = 0
    silent: int = 0
    deliberate: dict[str, str] = field(default_factory=dict)
    """Reasons by pair."""
    values: int = 0
    kernel_ns: int = 0
    other_ns: int = 0
    steps: step_set.Detection | None = None
    seconds: float = 0
    wrong: list[str] = field(default_factory=list)
    refused: str = ""


def main(folders: Sequence[Path]) -> None:
    """Write the page and print unexplained differences."""
    nsys, ncu = tools.find_nsys(), tools.find_ncu()
    if nsys is None or ncu is None:
        raise SystemExit("nsys and ncu have to be installed: see scripts/install_nsight.sh")
    rows = []
    for path in (path for folder in folders for path in _list_reports(folder)):
        with TemporaryDirectory() as work:
            rows.append(_make_row(path, Path(work), nsys, ncu))
        print(f"{time.process_time():5.0f} s  {_format_line(rows[-1])}", flush=True)
    TARGET.write_text(_format_page(rows, (nsys, ncu)), encoding="utf-8")
    for row in rows:
        for line in row.wrong[:20]:
            print(f"{row.name}: {line}", file=sys.stderr)
    raise SystemExit(any(row.wrong for row in rows))


def _list_reports(folder: Path) -> Iterator[Path]:
    """Return the files of a folder and its subfolders (several GPUs, PyTorch) that a user might drop.

    An export beside its report is left out.
    """
    several = [path for part in (folder, folder / "ddp", folder / "torch") for path in sorted(part.glob("*"))]
    reports = {path.stem for path in several if path.suffix in NSYS_ENDINGS}
    for path in several:
        beside = path.suffix == ".sqlite" and path.stem in reports
        if path.suffix in ENDINGS and not beside and not path.name.endswith(BESIDE):
            yield path


def _make_row(path: Path, work: Path, nsys: tools.Tool, ncu: tools.Tool) -> Row:
    library, seconds, job = _take_in(path, work)
    if job is None or job.report_id is None:
        return Row(path.name, "refused", seconds=seconds, refused=job.message if job else "")
    report = library.find(job.report_id)
    row = Row(path.name, _read_capture(report), seconds=seconds)
    row.kernels = report.rows.get("kernel", 0) + report.rows.get("ncu_launch", 0)
    if report.kind == "nsys":
        _compare_nsys(row, path, library, report, nsys, work)
        _look_at_steps(row, library, report)
    elif path.suffix == ".ncu-rep":
        _compare_ncu(row, path, ncu, work)
    _look_at_classes(row, library, report)
    return row


def _take_in(path: Path, work: Path) -> tuple[Library, float, Job | None]:
    """Return a library of the file, the worker's processor seconds, and the file's final state.

    An export beside a report of Nsight Systems comes along; beside one of Nsight Compute it belongs to another report.
    """
    inbox, library = work / "inbox", Library(work / "library")
    inbox.mkdir()
    export = path.with_suffix(".sqlite")
    for one in {path, export} if path.suffix in NSYS_ENDINGS and export.exists() else {path}:
        shutil.copy2(one, inbox)
    argv = [sys.executable, "-m", "ingest", "--once", "--inbox", str(inbox), "--library", str(library.folder)]
    before = _read_cpu_s()
    subprocess.run(argv, cwd=ROOT, capture_output=True, check=False)
    return library, _read_cpu_s() - before, library.catalog.job(str(inbox / path.name))


def _read_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _read_capture(report: Manifest) -> str:
    return f"{report.tool or report.kind} {report.tool_version or ''}".strip()


def _compare_nsys(row: Row, path: Path, library: Library, report: Manifest, nsys: tools.Tool, work: Path) -> None:
    """Compare with the output of nsys, or with a newer nsys's stored output for a sample."""
    paper = path.parent / "oracle" / path.stem
    paper = paper if paper.exists() else path.parent.parent / "oracle" / path.stem
    if paper.exists():
        printed = {case: nsys_oracle.on_paper(paper, case) for case in nsys_oracle.ON_SAMPLES}
    else:
        export = None if _is_newer(report, nsys) else _export(path, nsys, work)
        if export is None:
            row.refused = NEWER
            return
        (work / "asked").mkdir()
        nsys_oracle.ask(nsys.path, export, nsys_oracle.ON_CORPUS, work / "asked")
        printed = {case: nsys_oracle.asked(work / "asked", case) for case in nsys_oracle.ON_CORPUS}
    for case, expected in printed.items():
        _compare(row, case, expected, nsys_oracle.ours(library, report.name, case))


def _is_newer(report: Manifest, nsys: tools.Tool) -> bool:
    """Return True if a newer nsys made an export: it rounds and names differently."""
    written = _WRITTEN_BY.search(report.converter or "")
    return written is not None and tuple(map(int, written.groups())) > nsys.version[:3]


def _compare(row: Row, case: nsys_oracle.Case, expected: nsys_oracle.Table, ours: nsys_oracle.Table) -> None:
    if not expected and not ours:
        row.silent += 1
    elif not (differences := nsys_oracle.differences(expected, ours)):
        row.equal += 1
    elif why := deliberate_differences.reason(row.name, case.analysis, silent=not expected):
        row.deliberate[str(case)] = why
    else:
        row.wrong.append(f"{case}: {len(differences)} differences, such as {differences[0]}")


def _export(path: Path, nsys: tools.Tool, work: Path) -> Path | None:
    """Return nsys's SQLite export of a report; None if nsys cannot read the file."""
    target = work / "export.sqlite"
    if path.suffix == ".sqlite":
        return Path(shutil.copy(path, target))
    argv = [str(nsys.path), "export", "-q", "true", "-t", "sqlite", "-o", str(target), str(path)]
    done = subprocess.run(argv, capture_output=True, check=False)
    return target if done.returncode == 0 and target.exists() else None


def _compare_ncu(row: Row, path: Path, ncu: tools.Tool, work: Path) -> None:
    for name in ("ncu", "wheel"):
        (work / name).mkdir()
    try:
        by_ncu = cli.read_report(ncu, path, work / "ncu")
    except WarpdeckError:
        row.refused = "ncu cannot read it: nothing to compare with"
        return
    by_wheel = wheel.read_quick(path, container.read_frame(path), work / "wheel")
    row.values, row.wrong = ncu_agree.compared(by_ncu, by_wheel)


def _look_at_steps(row: Row, library: Library, report: Manifest) -> None:
    for part in ("samples", "ddp", "corpus"):
        if true := step_set.truth(part).get(row.name):
            row.steps = step_set.detect(library, report.id, row.name, true)


def _look_at_classes(row: Row, library: Library, report: Manifest) -> None:
    try:
        split = analysis.run(library, report.id, "class_split", {})
    except (NotCapturedError, WarpdeckError):
        return
    row.kernel_ns = int(split["total_ns"].sum())
    row.other_ns = int(split.loc[split["class"] == "other", "total_ns"].sum())


def _format_line(row: Row) -> str:
    compared = row.equal + len(row.deliberate) + sum("differences, such as" in one for one in row.wrong)
    steps = "" if row.steps is None else ("right" if row.steps.is_right else "wrong") + f": {row.steps.found}"
    cells = (
        words.code(row.name, cell=True), words.plain(row.captured), words.count(row.kernels) if row.kernels else "",
        f"{row.equal} of {compared}" if compared else "", words.count(len(row.deliberate)) if row.deliberate else "",
        f"{words.count(row.values)} of {words.count(row.values + len(row.wrong))}" if row.values else "",
        words.percent(100 * row.other_ns / row.kernel_ns) if row.kernel_ns else "", steps, f"{row.seconds:.1f}",
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _format_page(rows: Sequence[Row], used: Iterable[tools.Tool]) -> str:
    command = " ".join(["python scripts/coverage_table.py", *sys.argv[1:]])
    seconds = words.duration(1e9 * (time.process_time() + _read_cpu_s()))
    head = HEAD.format(command=command, seconds=seconds, tools=" and ".join(tool.label for tool in used))
    parts = [head, _sum_rows(rows), "\n".join([TABLE, "|" + " --- |" * 9, *map(_format_line, rows)])]
    if wrong := [f"- {words.code(row.name)}: {words.code(line)}" for row in rows for line in row.wrong[:20]]:
        parts += ["## Differences that nothing explains", "\n".join(wrong)]
    deliberate = [f"- {words.code(row.name)}: {_group_reasons(row)}" for row in rows if row.deliberate]
    refused = [f"- {words.code(row.name)}: {words.plain(row.refused)}" for row in rows if row.refused]
    parts += ["## Deliberate differences", "\n".join(deliberate), "## Not compared", "\n".join(refused)]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def _group_reasons(row: Row) -> str:
    """Return the differing pairs of a report by reason."""
    by_reason: dict[str, list[str]] = {}
    for case, why in row.deliberate.items():
        by_reason.setdefault(why, []).append(words.code(case))
    return "; ".join(f"{', '.join(cases)}: {words.plain(why.rstrip('.;'))}" for why, cases in by_reason.items())


def _sum_rows(rows: Sequence[Row]) -> str:
    read = [row for row in rows if row.captured != "refused"]
    steps = [row.steps for row in rows if row.steps]
    precision, recall = step_set.precision_and_recall(steps)
    kernel_ns = sum(row.kernel_ns for row in rows)
    equal, deliberate = sum(row.equal for row in rows), sum(len(row.deliberate) for row in rows)
    wrong = sum(len(row.wrong) for row in rows)
    return (
        f"**{len(read)} reports**, {len(rows) - len(read)} files refused. Pairs: {words.count(equal)} equal,"
        f" {deliberate} deliberate; values of ncu: {words.count(sum(row.values for row in rows))} equal;"
        f" {words.count(wrong)} differences unexplained. Other:"
        f" {words.percent(100 * sum(row.other_ns for row in rows) / max(1, kernel_ns))} of kernel time. Steps:"
        f" {sum(one.is_right for one in steps)} of {len(steps)} right (precision {precision:.2f}, recall {recall:.2f})."
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write docs/coverage.md.")
    parser.add_argument(
        "folders", nargs="*", type=Path, metavar="FOLDER", help="of reports (default: corpus and samples)"
    )
    chosen = parser.parse_args().folders
    if missing := [str(folder) for folder in chosen if not folder.is_dir()]:
        parser.error(f"no folder: {', '.join(missing)}")
    main(chosen or FOLDERS)
