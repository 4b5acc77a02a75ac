"""Compute HolisticTraceAnalysis's numbers of the two-rank sample for tests: tests/data/torch/hta.json.

Run it with a Python that has HolisticTraceAnalysis, which needs older packages than Warpdeck:
``python -m venv hta && hta/bin/pip install HolisticTraceAnalysis==0.5.0 && hta/bin/python scripts/hta_numbers.py``.
"""

import gzip
import json
import shutil
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = sorted((ROOT / "sample_reports/torch").glob("torch_ddp_2_rank*.pt.trace.json.gz"))
TARGET = ROOT / "tests/data/torch/hta.json"


def main() -> None:
    """Write temporal breakdown and overlap by rank."""
    from hta.trace_analysis import TraceAnalysis  # type: ignore[import-not-found]  # in another environment

    with TemporaryDirectory() as folder:
        for path in SAMPLES:  # it needs the rank in the trace, which these have, and a known file ending
            target = Path(folder) / path.name.replace(".pt.trace.json.gz", ".json")
            with gzip.open(path, "rb") as packed, target.open("wb") as plain:
                shutil.copyfileobj(packed, plain)
        analyzer = TraceAnalysis(trace_dir=folder)
        times = analyzer.get_temporal_breakdown(visualize=False)
        overlap = analyzer.get_comm_comp_overlap(visualize=False)
    written = {
        "tool": f"HolisticTraceAnalysis {version('HolisticTraceAnalysis')}",
        "files": [path.name for path in SAMPLES],
        "temporal_breakdown": json.loads(times.to_json(orient="records")),
        "comm_comp_overlap": json.loads(overlap.to_json(orient="records")),
    }
    TARGET.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
