"""Links between reports: in the catalog, on the command line, and with two reports open at once."""

import threading
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from profiledb.access.cli import main as cli
from profiledb.errors import AnalysisError, ReportNotFoundError
from profiledb.library import report_links
from profiledb.library.catalog import Catalog
from profiledb.library.library import Library
from profiledb.query import analysis, views
from profiledb.report import schema
from tests.profiledb.query.test_pair import GEMM, compute, launch, systems
from tests.support.page_reports import Publish, run


@pytest.fixture(name="both")
def make_both(publish: Publish) -> tuple[str, str]:
    """A Systems report and a Compute report of it."""
    return publish(systems((GEMM, 8, 300))), publish(compute(launch(0, GEMM)), "ncu")


def test_a_link_is_kept_until_it_is_taken_away(library: Library, publish: Publish, both: tuple[str, str]) -> None:
    nsys, ncu = both
    other = publish(compute(launch(0, GEMM)), "ncu")
    assert library.linked_report(nsys) is None
    library.link(nsys, ncu)
    assert (Library(library.folder).linked_report(nsys), library.linked_report(ncu)) == (ncu, None)
    library.link(nsys, other)
    assert library.catalog.links.all() == {nsys: other}, "one at a time"
    library.unlink(nsys)
    library.unlink(nsys)
    assert library.linked_report(nsys) is None


def test_only_a_systems_report_is_linked_to_a_compute_report(library: Library, both: tuple[str, str]) -> None:
    nsys, ncu = both
    for wrong, product in (((ncu, ncu), "Systems"), ((nsys, nsys), "Compute")):
        with pytest.raises(AnalysisError, match=f"not a report of Nsight {product}"):
            library.link(*wrong)
    with pytest.raises(ReportNotFoundError):
        library.link(nsys, "nothing")
    assert library.catalog.links.all() == {}


@pytest.mark.parametrize("gone", [0, 1])
def test_a_link_goes_with_either_report(library: Library, both: tuple[str, str], gone: int) -> None:
    library.link(*both)
    manifest = library.find(both[gone])
    library.delete(both[gone])
    library.catalog.add_report(manifest)
    assert library.catalog.links.all() == {}, "it does not come back with the report"


def test_a_link_survives_recovery_and_a_new_conversion(library: Library, both: tuple[str, str]) -> None:
    nsys, ncu = both
    library.link(nsys, ncu)
    library.recover()
    assert library.linked_report(nsys) == ncu
    current, manifest = library.path(ncu), library.find(ncu)
    older = current.rename(current.with_name(f"{ncu}.v1.duckdb"))  # as an update of the schema leaves it
    library.recover()
    assert library.linked_report(nsys) is None, "while it waits for its conversion"
    library.publish(older, manifest)
    assert library.linked_report(nsys) == ncu


def test_a_link_to_a_trace_ends_with_its_report(library: Library, both: tuple[str, str]) -> None:
    """It pairs kernels by row, and a report that replaces the trace has other rows."""
    nsys, other = both
    for kind in report_links.LINKS:
        library.catalog.links.put(nsys, other, kind)
    library.catalog.add_report(replace(library.find(other), id="0123456789abcdef"))
    library.catalog.hand_over(other, "0123456789abcdef")
    library.catalog.remove_report(other)
    assert library.catalog.links.all("ncu") == {nsys: "0123456789abcdef"}
    assert library.catalog.links.all("trace") == {}


def test_a_catalog_of_an_earlier_version_gets_its_table(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path / "c.sqlite")
    with catalog._connect() as db:
        db.execute("DROP TABLE link")
    assert Catalog(tmp_path / "c.sqlite").links.all() == {}


def test_the_command_links_and_unlinks(
    library: Library, both: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    nsys, ncu = both

    def call(*argv: str) -> tuple[int, str]:
        status = cli.main(["link", *argv, "--library", str(library.folder)])
        captured = capsys.readouterr()
        return status, captured.out + captured.err

    said = f"{nsys}.rep is linked to {ncu}.rep, which covers 100.0 % of the GPU time.\n"
    assert call(f"{nsys}.rep", f"{ncu}.rep") == (0, said)
    assert library.linked_report(nsys) == ncu
    status, said = call(nsys)
    assert (status, "--remove" in said) == (1, True)
    assert call(nsys, "--remove")[0] == 0
    assert library.linked_report(nsys) is None
    assert call(ncu, nsys) == (
        1,
        f"{nsys}.rep is not a report of Nsight Compute. The parameter ncu takes a Compute report.\n",
    )
    assert call(ncu, ncu)[0] == 1
    assert library.catalog.links.all() == {}


def test_everything_of_nsight_compute_answers_from_the_compute_report(library: Library, publish: Publish) -> None:
    def fill(db: duckdb.DuckDBPyConnection) -> None:
        for name, table in schema.read_tables().items():
            db.execute(f'INSERT INTO "{name}" ({table.columns[0].name}) VALUES (NULL)')

    ours, theirs = publish(systems((GEMM, 8, 300))), publish(fill, "ncu")
    with library.cursor(ours, partner=theirs, views=views.list_all()) as cursor:
        for name in schema.read_tables():
            (rows,) = cursor.execute(f'SELECT count(*) FROM "{name}"').fetchone() or ()
            expected = 1 if name.startswith("ncu_") else len(analysis.query(library, ours, f'FROM "{name}"'))
            assert rows == expected, name
        for view in ("ncu_gpu", "ncu_kernel_name"):
            assert cursor.execute(f"SELECT count(*) FROM {view}").fetchone() == (1,), view
    with library.cursor(ours, views=views.list_all()) as cursor:
        assert cursor.execute("SELECT count(*) FROM ncu_launch").fetchone() == (0,), "the next cursor is alone again"


def test_both_reports_stay_while_they_are_in_use(
    library: Library, publish: Publish, both: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    nsys, ncu = both
    third = publish(systems(("g()", 8, 5)))
    monkeypatch.setattr("profiledb.report.attachments.OPEN_REPORTS", 1)
    count = "SELECT (SELECT count(*) FROM kernel), (SELECT count(*) FROM ncu_launch), (SELECT count(*) FROM ncu_gpu)"
    with library.cursor(nsys, partner=ncu, views=views.list_all()) as cursor:
        run(library, third, "class_split")
        assert cursor.execute(count).fetchone() == (1, 1, 1)
        library.delete(ncu)
        assert cursor.execute(count).fetchone() == (1, 1, 1), "a reader keeps its snapshot"
    run(library, third, "class_split")
    assert library._attached._small._in_use.total() == 0
    with pytest.raises(ReportNotFoundError), library.cursor(nsys, partner="f" * 16, views=views.list_all()):
        pass
    assert library._attached._small._in_use.total() == 0, "a report that could not be opened holds no other"


@pytest.mark.slow("twelve answers of six reports")
def test_threads_get_the_rows_of_their_own_pair(
    library: Library, publish: Publish, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("profiledb.report.attachments.OPEN_REPORTS", 2)
    pairs = {}
    for number in (1, 2, 3):
        nsys = publish(systems((GEMM, 8, 100 * number)))
        library.link(nsys, publish(compute(launch(number, GEMM, 1000 * number)), "ncu"))
        pairs[nsys] = number
    wrong: list[object] = []

    def read(report_id: str, number: int) -> None:
        for _ in range(4):
            (row,) = run(library, report_id, "time_weighted_roofline")
            found = (row["total_ns"], row["launch_id"], row["ncu_duration_ns"])
            if found != (100 * number, number, 1000 * number):
                wrong.append(found)

    threads = [threading.Thread(target=read, args=item) for item in pairs.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
