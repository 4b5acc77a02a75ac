"""The JavaScript modules of the timeline import each other in one direction."""

import re
from graphlib import TopologicalSorter

from app.timeline.assets import FOLDER

IMPORT = re.compile(r'^import .*from "\./(\w+)\.js";$', re.MULTILINE)


def test_modules_import_in_one_direction() -> None:
    imports = {path.stem: set(IMPORT.findall(path.read_text(encoding="utf-8"))) for path in FOLDER.glob("*.js")}
    assert {name for names in imports.values() for name in names} <= set(imports)
    order = list(TopologicalSorter(imports).static_order())  # raises CycleError
    assert order.index("color_math") < order.index("colors") < order.index("timeline") < order.index("main")
