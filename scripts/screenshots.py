"""Take a picture of each page with samples, for the README and docs: ``python scripts/screenshots.py [PAGE...]``."""

import os
import re
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from PIL import Image  # noqa: E402 - the root must be on the path first
from playwright.sync_api import Page  # noqa: E402 - the root must be on the path first

from bench.pages import open_page, run_dashboard, wait_at_rest  # noqa: E402
from profiledb.library.library import Library  # noqa: E402
from profiledb.studies import run_lookup  # noqa: E402

HOMES = (Path("/srv"), Path.home())
"""Folders for the data, which the Library's picture shows: the first writable one is used."""
TARGET = ROOT / "docs" / "screenshots"
SAMPLES = ROOT / "sample_reports"
TRAINING = "transformer_training"
PAGES = {
    "summary": f"/summary?report={TRAINING}.nsys-rep",
    "kernels": f"/kernels?report={TRAINING}.nsys-rep",
    "ranges": f"/ranges?report={TRAINING}.nsys-rep",
    "idle": f"/idle?report={TRAINING}.nsys-rep",
    "findings": f"/findings?report={TRAINING}.nsys-rep",
    "timeline": f"/timeline?report={TRAINING}.nsys-rep",
    "kernel_profiles": "/kernel_profiles?report=kernels.ncu-rep&launch=5",
    "roofline": f"/roofline?report={TRAINING}.ncu-rep",
    "phases": f"/phases?report=transformer_inference.nsys-rep&other={{{TRAINING}.nsys-rep}}",  # other: an id, no name
    "energy": "/energy?report=energy.nsys-rep",
    "scaling": "/scaling?report=ddp_strong_4_rank0.sqlite",
    "kernel": f"/kernel?report={TRAINING}.nsys-rep&kernel=1",
    "roofline_by_time": f"/roofline_by_time?report={TRAINING}.nsys-rep",
    "operators": "/operators?report=torch_training.pt.trace.json.gz",
    "memory": f"/memory?report={TRAINING}.nsys-rep",
    "api": f"/api?report={TRAINING}.nsys-rep",
    "host": "/host?report=host_python.nsys-rep",
    "compare": "/compare?report=dataloader_starved.nsys-rep&other={dataloader_fixed.nsys-rep}",
    "what_if": f"/what_if?report={TRAINING}.nsys-rep",
    "attention": "/attention?report=attention.nsys-rep",
    "cpu_vs_gpu": "/cpu_vs_gpu?report=tasks.nsys-rep",
    "timer_check": "/timer_check?report=energy.nsys-rep",
    "sql": f"/sql?report={TRAINING}.nsys-rep",
    "trends": "/trends",
    "run": "/run?report=ddp_strong_4_rank0.sqlite",
    "library": "/",
}
JUDGED = ("trends", "run", "library")
"""Pages that are complete only when the importer has judged all reports: the last ones."""
HEIGHT = {"library": 1000, "kernels": 900}
TALL = 1180
DRAWN = """() => !document.querySelector('[data-testid=stSkeleton], [data-stale=true]')
    && (window.__warpdeck_timeline?.state().settled ?? !location.pathname.endsWith('/timeline'))"""
"""The page is complete, and the timeline shows all its data."""


def main(names: list[str]) -> None:
    """Write a PNG per page to docs/screenshots, for the named pages or all."""
    TARGET.mkdir(parents=True, exist_ok=True)
    data = next(home for home in HOMES if os.access(home, os.W_OK)) / "warpdeck"
    with tempfile.TemporaryDirectory() as folder:
        data.symlink_to(folder, target_is_directory=True)
        try:
            _take_pictures(data, names or list(PAGES))
        finally:
            data.unlink()


def _take_pictures(data: Path, names: list[str]) -> None:
    settings = {"WARPDECK_DATA": str(data), "WARPDECK_SAMPLES": str(SAMPLES)}
    with run_dashboard(settings) as address, open_page() as page:
        page.goto(address)
        samples = [
            one for kind in ("*-rep", "*/*.sqlite", "*/*.trace.json.gz", "*/*.xplane.pb") for one in SAMPLES.glob(kind)
        ]
        page.get_by_text(f"{len(samples)} reports").wait_for(timeout=300_000)
        library = Library(data / "library")
        library.link(library.find(f"{TRAINING}.nsys-rep").id, library.find(f"{TRAINING}.ncu-rep").id)
        for name in names:
            if name in JUDGED:
                _wait_judged(library)
            path = re.sub(r"{(.+?)}", lambda match: library.find(match[1]).id, PAGES[name])
            _take_picture(page, address + path, TARGET / f"{name}.png", HEIGHT.get(name, TALL))


def _wait_judged(library: Library) -> None:
    """Wait until the importer has judged all reports and knows the runs that they belong to."""
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline:
        judged = [(library.derived.answers / report.id / "findings.json").exists() for report in library.list()]
        if all(judged) and run_lookup.list_runs(library):
            return
        time.sleep(1)
    sys.exit("reports are not judged after ten minutes")


def _take_picture(page: Page, url: str, target: Path, height: int) -> None:
    page.set_viewport_size({"width": 1440, "height": height})
    page.goto(url)
    wait_at_rest(page, '[data-testid="stHeading"]')
    page.wait_for_load_state("networkidle")
    page.wait_for_function(DRAWN)
    if page.locator('[data-testid="stAlertContentWarning"], [data-testid="stAlertContentError"]').count():
        sys.exit(f"{target.name}: the page shows a warning or an error")
    page.screenshot(path=target)
    with Image.open(target) as picture:  # 48 colors are enough for a page, and take a third of the bytes
        small = picture.convert("RGB").quantize(48, Image.Quantize.MEDIANCUT, kmeans=3, dither=Image.Dither.NONE)
    small.save(target, optimize=True)


if __name__ == "__main__":
    main(sys.argv[1:])
