"""Takes the README's screenshots of pages with the samples in them: ``python scripts/screenshots.py [PAGE...]``."""

import re
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from playwright.sync_api import Page  # noqa: E402 (the root has to be on the path first)

from bench.pages import browser_page, dashboard  # noqa: E402
from profiledb.report.library import Library  # noqa: E402

DATA = Path(tempfile.gettempdir()) / "warpdeck"
TARGET = ROOT / "docs" / "screenshots"
SAMPLES = ROOT / "sample_reports"
TRAINING = "transformer_training"
PAGES = {
    "library": "/",
    "overview": f"/overview?report={TRAINING}.nsys-rep",
    "kernels": f"/kernels?report={TRAINING}.nsys-rep",
    "nvtx": f"/nvtx?report={TRAINING}.nsys-rep",
    "idle": f"/idle?report={TRAINING}.nsys-rep",
    "memory": f"/memory?report={TRAINING}.nsys-rep",
    "ncu": "/ncu?report=kernels.ncu-rep&launch=5",
    "roofline": f"/roofline?report={TRAINING}.ncu-rep",
    "phases": f"/phases?report=transformer_inference.nsys-rep&other={{{TRAINING}.nsys-rep}}",  # other: an id, no name
    "cpu_gpu": "/cpu_gpu?report=tasks.nsys-rep",
    "energy": "/energy?report=energy.nsys-rep",
    "scaling": "/scaling?report=ddp_strong_4_rank0.sqlite",
}
HEIGHT = {"library": 1000, "kernels": 900}
TALL = 1180


def main(names: list[str]) -> None:
    """Writes a PNG per page to docs/screenshots: of the pages named, or of all."""
    TARGET.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as made:
        data = DATA  # the Library's picture shows it
        data.symlink_to(made, target_is_directory=True)
        settings = {"WARPDECK_DATA": str(data), "WARPDECK_SAMPLES": str(SAMPLES)}
        with dashboard(settings) as address, browser_page() as page:
            page.goto(address)
            samples = [*SAMPLES.glob("*-rep"), *SAMPLES.glob("*/*.sqlite")]
            page.get_by_text(f"{len(samples)} reports").wait_for(timeout=300_000)
            library = Library(Path(data) / "library")
            for name in names or PAGES:
                path = re.sub(r"{(.+?)}", lambda found: library.find(found[1]).id, PAGES[name])
                _shoot(page, address + path, TARGET / f"{name}.png", HEIGHT.get(name, TALL))
        data.unlink()


def _shoot(page: Page, url: str, target: Path, height: int) -> None:
    page.set_viewport_size({"width": 1440, "height": height})
    page.goto(url)
    page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]')
    page.wait_for_selector('[data-testid="stDataFrame"] canvas')
    page.wait_for_load_state("networkidle")
    page.wait_for_function("() => !document.querySelector('[data-testid=stSkeleton], [data-stale=true]')")
    if page.locator('[data-testid="stAlertContentWarning"], [data-testid="stAlertContentError"]').count():
        sys.exit(f"{target.name}: the page shows a warning or an error")
    page.screenshot(path=target)


if __name__ == "__main__":
    main(sys.argv[1:])
