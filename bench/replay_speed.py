"""Measure the cost of a replay: `python -m bench.replay_speed --kernels 10000 1000000 5000000` generates reports, too.

A process of its own asks each question twice. The first time it loads modules and creates views, as the command does;
a server does that once.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.generate import Options, generate
from bench.ingestion import run_ingest
from profiledb.library.library import Library
from profiledb.replay import path_table, prediction

QUESTIONS: Mapping[str, Callable[[Library, str], object]] = {
    "one change": lambda library, report: prediction.predict(library, report, [("cuda_graph", "")]),
    "all changes": prediction.predict,
    "critical path": path_table.read_path,
}


def answer(question: str, folder: Path) -> dict[str, float]:
    """Ask the only report of a library a question twice; return processor times in s and the peak of memory in GB."""
    library = Library(folder)
    report, moments = library.list()[0].id, [time.process_time()]
    for _ in range(2):
        QUESTIONS[question](library, report)
        moments.append(time.process_time())
    first, again = (after - before for before, after in pairwise(moments))
    return {"first": first, "again": again, "gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9}


def main() -> None:
    """Print a table, a row for each report and question."""
    parser = argparse.ArgumentParser(prog="python -m bench.replay_speed", description=__doc__)
    parser.add_argument("--kernels", type=int, nargs="+", default=[10_000, 1_000_000])
    parser.add_argument("--answer", nargs=2, metavar=("QUESTION", "LIBRARY"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.answer:
        print(json.dumps(answer(given.answer[0], Path(given.answer[1]))))
        return
    print("| Kernels | Question | Processor, first time | Again | Memory |")
    print("| ---: | --- | ---: | ---: | ---: |")
    for kernels in given.kernels:
        with TemporaryDirectory(prefix="warpdeck-replay-") as data:
            export = Path(data) / "generated.parquetdir"
            generate(Options(kernels, numbered_steps=True), export, "parquetdir")
            run_ingest((export,), Path(data) / "inbox", Path(data) / "library")
            for question in QUESTIONS:
                command = [sys.executable, "-m", "bench.replay_speed", "--answer", question, f"{data}/library"]
                out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
                took = json.loads(out.splitlines()[-1])
                cells = f"{took['first']:.2f} s | {took['again']:.2f} s | {took['gb']:.2f} GB"
                print(f"| {kernels:,} | {question} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
