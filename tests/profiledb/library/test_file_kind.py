"""A catalog of an earlier version, which marked sidecars in the fingerprint of a job."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from profiledb.library.catalog import Catalog, Job

REPORT = Job("/inbox/a.sqlite", "a.sqlite", "10-20", "ready", report_id="0123456789abcdef")
SIDECAR = Job("/inbox/a.timings.csv", "a.timings.csv", "10-30@0123456789abcdef", "ready", file_kind="sidecar")


def test_jobs_say_whether_their_file_is_a_sidecar(tmp_path: Path) -> None:
    path = tmp_path / "catalog.sqlite"
    catalog = Catalog(path)
    catalog.put_job(REPORT, SIDECAR)
    with closing(sqlite3.connect(path)) as db:
        db.execute("ALTER TABLE job DROP COLUMN file_kind")
    for _ in range(2):  # the second one finds nothing to do
        kinds = {job.name: job.file_kind for job in Catalog(path).jobs()}
        assert kinds == {"a.sqlite": "report", "a.timings.csv": "sidecar"}
    catalog = Catalog(path)
    catalog.put_job(replace(SIDECAR, file_kind="report"))
    job = catalog.job(SIDECAR.path)
    assert job is not None
    assert job.file_kind == "report"
