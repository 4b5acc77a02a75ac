"""One recording: its folder, its power log, and the files that are left of it."""

import json
import os
import shutil
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from ingest import tools
from ingest.scrub.secret_names import holds_secret
from profiledb import terminal
from profiledb.errors import ConversionError, WarpdeckError
from warpdeck.profile_command.plan import Chosen, make_folder
from warpdeck.profiling import masking, ncu
from warpdeck.profiling.child import Child, Ended
from warpdeck.profiling.errors import ProfilingError
from warpdeck.profiling.file_names import REPORTS, claim_name
from warpdeck.profiling.power_log import GPUMonitor
from warpdeck.profiling.recording import make_child

RANKS_S = 120.0
"""Seconds that the first rank waits for the reports of the others, and a launcher for those of its ranks."""
_CRASHED = 128 + signal.SIGSEGV
_CRASH = (
    "The program crashed (SIGSEGV): what nsys had not saved by then is missing. If it runs without nsys, try"
    " --arg=--cuda-graph-trace=graph, which records each CUDA graph as a whole."
)
_GENERATED = b"Generated:"
"""What nsys prints once a report is written."""
_LOOK_S = 0.2
_SHIM = Path(__file__).resolve().parent.parent / "profiling"


class Session:
    """Records a program and keeps the files under a name that is not taken."""

    def __init__(self, chosen: Chosen, output: Path) -> None:
        self.output = output.absolute()
        try:
            self.output.mkdir(parents=True, exist_ok=True)
            self.folder = make_folder(self.output)
        except OSError as error:
            raise ConversionError(
                f"{self.output} cannot be written: {error.strerror}.", hint="Name another folder with -o."
            ) from error
        self.chosen = replace(chosen, plan=replace(chosen.plan, folder=str(self.folder)))
        self.child = self._make_child()
        self.ended: Ended | None = None
        self.monitor: GPUMonitor | None = None
        self.variables: dict[str, set[str]] = {}
        self.is_rescued = False
        self.seconds = 0.0
        """Seconds that the program took under the profiler."""

    def __enter__(self) -> "Session":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self.is_rescued:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _make_child(self) -> Child:
        plan, launched = self.chosen.plan, self.chosen.launched
        if not launched.launcher:
            return make_child(plan, launched.program, "report", terminal=True)
        shim = [sys.executable, str(_SHIM), str(plan.write()), *launched.program]
        return Child([*launched.launcher, *shim], dict(os.environ), is_profiler=False)

    def command(self) -> list[str]:
        """Return the command line that runs."""
        return list(self.child.command)

    def run(self) -> int:
        """Record until the profiler ends; return the exit status so far.

        Raises:
            WarpdeckError: the profiler cannot be started.
        """
        self.variables, start = masking.read_environments(), time.monotonic()
        is_ncu = self.chosen.plan.tool == "ncu"  # runs each kernel many times: power would be that of the replays
        try:
            with GPUMonitor(quiet=True, devices=[] if is_ncu else None) as self.monitor:
                self.ended = self.child.run()
                if self.chosen.launched.launcher:
                    self.child.settle(RANKS_S, self._has_all)
        except OSError as error:
            raise ConversionError(
                f"{error.filename or self.command()[0]} cannot be started: {error.strerror}."
            ) from error
        self.seconds = time.monotonic() - start
        if self.chosen.plan.tool == "nsys" and self.ended.status == _CRASHED:
            terminal.say(_CRASH, sys.stderr)
        for name, values in masking.read_environments().items():
            self.variables.setdefault(name, set()).update(values)
        return self.ended.status

    def _has_all(self) -> bool:
        """Return True if nsys has said of each rank that its report is complete."""
        return all(_GENERATED in path.read_bytes() for path in self.folder.glob("*.log"))

    def wait(self) -> int:
        """Wait for a program that runs on after its window, and return its exit status."""
        assert self.ended is not None
        if self.ended.running:
            terminal.say("The program runs on.", sys.stderr)
            return self.child.wait_for(self.ended.running)
        return self.ended.status

    def keep(self) -> list[Path]:
        """Mask the reports, move them to their names, and return them; say if there is none."""
        paths = sorted(
            (path for path in self.folder.iterdir() if path.name.endswith(REPORTS)),
            key=lambda path: _parse_rank(path.name),
        )
        if not paths:
            terminal.say(self._say_why_none(), sys.stderr)
            return []
        stem = self._claim_name([path.name for path in paths])
        reports = []
        for path in paths:
            ending = next(one for one in REPORTS if path.name.endswith(one))
            rank = _parse_rank(path.name)
            own = f"{stem}_rank{rank}" if rank >= 0 else stem
            if ending in (".nsys-rep", ".qdstrm", ".ncu-rep"):
                masking.mask_file(path, self.variables, holds_secret)
            if ending == ".qdstrm" and (converted := _convert_stream(path)):
                path, ending = converted, ".nsys-rep"  # noqa: PLW2901
            self._write_beside(own, rank if rank >= 0 else None, len(paths))
            shutil.move(path, self.output / f"{own}{ending}")
            reports.append(self.output / f"{own}{ending}")
        return self._gather_ranks(reports)

    def _claim_name(self, names: list[str]) -> str:
        """Return a name of which there are no files yet; of a rank of an outer launcher with its number."""
        given = self.chosen.rank
        name, ending = (f"{self.chosen.name}_{given.run}", f"_rank{given.number}") if given else (self.chosen.name, "")
        ranks = [number for one in names if (number := _parse_rank(one)) >= 0]
        try:
            return claim_name(self.output, name, ending, ranks)
        except (ProfilingError, OSError) as error:
            raise ConversionError(f"{error} The files are in {self._rescue_folder()}.") from error

    def _rescue_folder(self) -> Path:
        """Keep the folder of the profiler, because its files have no other place; return it."""
        self.is_rescued = True
        return self.folder

    def _write_beside(self, own: str, rank: int | None, count: int) -> None:
        """Write the facts of the run and the log of power beside a report."""
        facts: dict[str, object] = {"command": self.chosen.program, "tool": self.chosen.plan.tool}
        given = self.chosen.rank
        if given:
            facts |= {"rank": given.number, "ranks": given.size, "run": given.run}
        elif rank is not None:
            facts |= {"rank": rank, "ranks": count}
        (self.output / f"{own}.meta.json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
        if self.monitor and self.monitor.devices:
            local = given.local if given else rank
            device = None if local is None else self.monitor.devices[local % len(self.monitor.devices)]
            self.monitor.write(self.output / f"{own}.nvml.csv", device)

    def _gather_ranks(self, reports: list[Path]) -> list[Path]:
        """Return the reports of all ranks to the first one, which waits for them; nothing to the others."""
        rank = self.chosen.rank
        if rank is None:
            return reports
        if rank.number:
            terminal.say(f"rank {rank.number}: {reports[0]}", sys.stderr)
            return []
        limit = time.monotonic() + RANKS_S
        stem = f"{self.chosen.name}_{rank.run}_rank"
        while True:
            paths = {number: path for number in range(rank.size) if (path := self._find_report(f"{stem}{number}"))}
            if len(paths) == rank.size or time.monotonic() > limit:
                break
            time.sleep(_LOOK_S)  # between two looks; the files decide
        if len(paths) < rank.size:
            terminal.say(f"No report of {rank.size - len(paths)} of {rank.size} ranks in {self.output}.", sys.stderr)
        return [paths[number] for number in sorted(paths)]

    def _find_report(self, stem: str) -> Path | None:
        return next((path for one in REPORTS if (path := self.output / f"{stem}{one}").exists()), None)

    def _say_why_none(self) -> str:
        """Return a sentence why there is no report."""
        plan = self.chosen.plan
        if plan.steps and not any(self.folder.glob("*.window")):
            return (
                f"No step {plan.steps[0]} was seen, so nothing was recorded. Steps are counted by the program's"
                " optimizer, or by NVTX ranges and record_function named step_N. For other programs, use --after and"
                " --seconds."
            )
        if plan.tool == "torch":
            return "No trace was written: the program did not import torch, was killed, or ended by os._exit."
        if plan.tool == "ncu":
            return ncu.explain(b"".join(path.read_bytes() for path in self.folder.glob("*.log")))
        logs = [path.read_text(errors="replace") for path in sorted(self.folder.glob("*.log"))]
        last = [line.strip() for text in logs for line in text.splitlines() if line.strip()]
        excerpt = f" It says: {' '.join(last[-4:])[:400]}" if last else ""
        return f"nsys wrote no report.{excerpt}"


def _parse_rank(name: str) -> int:
    """Return the rank in a name of the folder's files, -1 where there is none."""
    digits = name.partition(".")[0].removeprefix("rank")
    return int(digits) if digits.isdecimal() else -1


def _convert_stream(path: Path) -> Path | None:
    """Convert raw capture data, which nsys leaves if it does not find its importer; return None if that fails."""
    report = path.with_suffix(".nsys-rep")
    for importer in tools.find_importers():
        try:
            done = tools.run([importer.path, "-i", path, "-o", report])
        except (WarpdeckError, OSError):
            continue
        if done.returncode == 0 and report.exists():
            return report
    return None
