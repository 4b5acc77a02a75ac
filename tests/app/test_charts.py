"""Charts and their colors: themes, axes, ticks, names."""

import math
import tomllib
from itertools import combinations

import pandas as pd
import pytest

from app.ui import charts
from app.ui.charts import ACCENT, GROUND, Theme
from app.ui.theme import CATEGORIES
from app.views.compare.charts import End, Part, plot_waterfall
from app.views.kernel_profiles.charts import plot_curve
from app.views.memory.charts import copy_sizes
from profiledb.rules.colors import ACTIVITIES
from profiledb.timeline.classes import FIXED
from tests.app.conftest import HOSTILE
from tests.conftest import ROOT
from tests.profiledb.rules.test_classes import BUNDLED, VISION, lab

APART = 10
"""Distance (CIE76) of two colors that a bar shows beside each other."""
THEMES: tuple[Theme, Theme] = ("light", "dark")


@pytest.mark.parametrize("theme", THEMES)
def test_charts_have_the_accent_and_the_background_of_the_theme(theme: Theme) -> None:
    with (ROOT / "app" / ".streamlit" / "config.toml").open("rb") as file:
        config = tomllib.load(file)["theme"][theme]
    assert config["primaryColor"].lower() == ACCENT[theme].lower()
    assert config["backgroundColor"].lower() == GROUND[theme].lower()
    assert ACCENT[theme].lower() in (ROOT / "app" / "static" / "style.css").read_text()


@pytest.mark.parametrize("theme", THEMES)
def test_what_charts_draw_stands_out_from_the_page(theme: Theme) -> None:
    """3:1, as WCAG 2 requires of graphics; 4.5:1 for marks, because their labels have the same color."""
    for color, least in ((ACCENT, 3), (charts.GRAY, 4.5), (charts.NEUTRAL, 3), (charts.MARK, 4.5)):
        assert contrast(color[theme], GROUND[theme]) >= least


@pytest.mark.parametrize("theme", THEMES)
def test_categories_have_colors_of_their_own(theme: Theme) -> None:
    """They stand out from the page, differ for color-blind readers, and resemble no class of kernels."""
    mine = CATEGORIES[theme]
    assert min(contrast(color, GROUND[theme]) for color in mine) >= 3
    for kind in VISION:
        seen = [lab(color, kind) for color in (*mine, charts.NEUTRAL[theme])]
        assert min(math.dist(one, other) for one, other in combinations(seen, 2)) >= APART
    classes = [lab(getattr(one, theme), "normal") for one in BUNDLED]
    assert min(math.dist(lab(color, "normal"), one) for color in mine for one in classes) >= 8


def test_an_activity_keeps_its_color_on_the_timeline_and_its_hue_in_both_themes() -> None:
    """OS runtime calls were purple in the light theme, green in the dark one, and brown on the timeline."""
    timeline = {one.name: (one.light, one.dark) for one in FIXED}
    for name, pair in ACTIVITIES.items():
        light, dark = (math.degrees(math.atan2(*reversed(lab(color, "normal")[1:]))) for color in pair)
        assert abs((light - dark + 180) % 360 - 180) <= 30, name
        assert timeline.get(f"api-{name}", pair) == pair
    assert {f"api-{name}" for name in ACTIVITIES} & set(timeline) == {
        f"api-{name}" for name in set(ACTIVITIES) - {"host code", "OS runtime call"}
    }
    assert (timeline["sync"], timeline["osrt"]) == (ACTIVITIES["synchronization"], ACTIVITIES["OS runtime call"])


def contrast(one: str, other: str) -> float:
    high, low = sorted((charts.compute_luminance(one), charts.compute_luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_a_waterfall_begins_at_its_first_value_and_ends_at_its_last() -> None:
    parts = [Part("<b>a", -3e6, "-3 ms", "", "#000000"), Part("b", 1e6, "+1 ms", "", "#000000")]
    figure = plot_waterfall(parts, End("A", 500e6, "500 ms"), End("B", 498e6, "498 ms"), "light")
    (bars,) = [trace for trace in figure.data if trace.type == "bar"]
    assert (list(bars.base), list(bars.x)) == ([0, -3e6], [-3e6, 1e6])
    first, last = [trace for trace in figure.data if trace.type == "scatter"]
    assert (first.x[0], last.x[0]) == (0, -2e6)
    low, high = figure.layout.xaxis.range
    assert low < -3e6 < 0 < high
    named = dict(zip(figure.layout.xaxis.ticktext, figure.layout.xaxis.tickvals, strict=True))
    assert named["0"] == pytest.approx(0)
    assert named["−2"] == pytest.approx(-2e6)
    assert figure.layout.xaxis.title.text == "Change from A (ms)"


@pytest.mark.parametrize("place", [0, 2])
def test_the_words_at_an_occupancy_curve_stand_above_it(place: int) -> None:
    """Beside their point, they crossed the curve wherever it is steep."""
    known = {"x": [32, 64, 96], "occupancy_pct": [50.0, 100.0, 75.0]}
    figure = plot_curve(
        pd.DataFrame(known | {"is_current": [at == place for at in range(3)]}), "Threads", "32", "light"
    )
    (words,) = figure.layout.annotations
    assert words.text == ("32, 50.0 %" if place == 0 else "32, 75.0 %")
    low, high = figure.layout.yaxis.range
    plot_px = figure.layout.height - figure.layout.margin.t - figure.layout.margin.b
    assert (words.y, words.yanchor) == (high, "top")
    assert (high - 100) / (high - low) * plot_px >= 1.3 * words.font.size


@pytest.mark.parametrize("sizes", [[262e6], [1e6], [3e3, 5e3], [8.0, 4e9]])
def test_copies_of_any_sizes_have_axes_that_can_be_read(sizes: list[float]) -> None:
    """Copies of one size once stood on an axis without a single number."""
    rates = [14e9] * len(sizes)
    known = {"direction": "Host-to-Device", "bytes": sizes, "bytes_per_s": rates, "count": 5, "total_ns": 1e6}
    layout = copy_sizes(pd.DataFrame(known), [("Host link", 31.5e9)], {"Host-to-Device": "#000000"}, "light").layout
    for axis, values in ((layout.xaxis, sizes), (layout.yaxis, rates)):
        low, high = axis.range
        assert sum(low <= math.log10(tick) <= high for tick in axis.tickvals) >= 2
        assert all(low < math.log10(value) < high for value in values)


def test_charts_escape_names_and_stay_small() -> None:
    figure = charts.share_bar([charts.Part(HOSTILE, 60, HOSTILE, "#112233")], "dark")
    assert "<script>" not in figure.to_json()
    assert "$x$" not in figure.to_json()
    rows = pd.DataFrame({"since_start_ns": [0, 10], "duration_ns": [5, 7], "gpu_id": [0, 0], "stream": [1, 1]})
    assert len(charts.plot_over_time(rows, "light", log=False).data[0].x) == 2


@pytest.mark.parametrize("log", [True, False])
@pytest.mark.parametrize(("low", "high"), [(1.0, 2.0), (1000, 1032), (1, 1e9), (500, 90_000), (1e6, 1e7)])
def test_ticks_are_few_and_inside(low: float, high: float, log: bool) -> None:
    ticks = charts.choose_ticks(low, high, log=log)
    assert len(ticks) <= 10
    assert all(low <= tick <= high for tick in ticks)
    assert len(charts.choose_ticks(100, 200_000, log=True)) >= 4
