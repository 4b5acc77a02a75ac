"""The server warms up before the first page."""

import os
import subprocess
import sys

import pytest

from app import warm_up
from profiledb.library.library import Library
from tests.conftest import ROOT

LOOK = """
import sys
from streamlit.testing.v1 import AppTest
from tests.app.conftest import MAIN, at_page
from app import warm_up
warm_up.warm_up()
before = set(sys.modules)
at = AppTest.from_file(str(MAIN), default_timeout=60)
at.query_params["report"] = sys.argv[1]
at = at_page(at, "summary").run()
assert not at.exception and at.markdown
print(*sorted(name for name in set(sys.modules) - before if name.startswith(("app.", "pandas.io.", "jinja2."))))
"""


def test_it_imports_the_modules_of_pages() -> None:
    modules = warm_up.list_modules()
    assert {"app.ui.charts", "app.views.summary.kernels", "app.selection.page_selection"} <= set(modules)
    warm_up.warm_up()
    assert {*modules, *warm_up._USED_LATER} <= sys.modules.keys(), "a module that fails is left out"


@pytest.mark.slow("starts a process that imports all of the dashboard")
def test_the_first_look_at_a_page_imports_nothing_more_of_it(nsys_samples: Library) -> None:
    report_id = nsys_samples.find("attention.nsys-rep").id
    env = os.environ | {"WARPDECK_LIBRARY": str(nsys_samples.folder), "WARPDECK_WORKER": "off"}
    said = subprocess.run(
        [sys.executable, "-c", LOOK, report_id], cwd=ROOT, env=env, capture_output=True, text=True, check=False
    )
    assert said.returncode == 0, said.stderr
    assert said.stdout.split() == []
