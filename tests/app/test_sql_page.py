"""The page "SQL": examples, a question of one's own, saved questions and their links, and hostile names."""

import pytest
from streamlit.testing.v1 import AppTest

from app.views.sql import charts
from profiledb.console.saved_questions import open_questions
from profiledb.library.library import Library
from tests.app.conftest import Dashboard

HOSTILE = "SELECT 1 AS \"<script>alert(1)</script> $x$ [a](http://b)\", 'a\u202eb' AS text, 2.5 AS number"


@pytest.fixture
def page(dashboard: Dashboard, library: Library) -> AppTest:
    report = library.find("transformer_training.nsys-rep")
    return dashboard("sql", report=report.id)


def ask(at: AppTest, sql: str) -> AppTest:
    at.text_area("sql-text").set_value(sql)
    return at.button("sql-run").click().run()


def quiet(at: AppTest) -> bool:
    return not at.exception and not at.error


def test_a_question_is_asked_kept_and_opened_by_its_link(page: AppTest, dashboard: Dashboard, library: Library) -> None:
    assert quiet(page)
    assert "selected_named_kernel" in str(page.text_area("sql-text").value), "it begins with an example"
    assert len(page.dataframe) == 2, "columns and views; nothing was asked yet"
    at = ask(page, "SELECT device_id, count(*) AS n FROM kernel GROUP BY ALL")
    assert quiet(at)
    assert at.dataframe[0].value["n"].tolist() == [library.find("transformer_training.nsys-rep").rows["kernel"]]
    at.text_input("sql-name").set_value("by device")
    at = at.button("sql-keep").click().run()
    (kept,) = open_questions(library).all()
    assert (kept.name, at.query_params["question"]) == ("by device", kept.id)
    opened = dashboard("sql", report=library.find("kernels.nsys-rep").id, question=kept.id)
    assert quiet(opened)
    assert opened.text_area("sql-text").value == kept.sql
    assert opened.dataframe[0].value["n"].tolist() == [library.find("kernels.nsys-rep").rows["kernel"]]
    gone = opened.button("sql-remove").click().run()
    assert quiet(gone)
    assert open_questions(library).all() == []
    assert "question" not in gone.query_params


def test_what_is_refused_is_said_and_what_is_hostile_is_inert(page: AppTest) -> None:
    refused = ask(page, "COPY kernel TO 'x'")
    assert not refused.exception
    assert "COPY is not allowed" in refused.error[0].value
    at = ask(refused, HOSTILE)
    assert quiet(at)
    assert at.dataframe[0].value["text"].tolist() == ["a b"]
    at = at.segmented_control("sql-chart").set_value("Bars").run()
    assert quiet(at)
    assert len(at.get("plotly_chart")) == 1


@pytest.mark.slow("asks one more question on a whole page")
def test_an_example_runs(page: AppTest) -> None:
    box = next(one for one in page.selectbox if one.label == "Examples")
    at = box.set_value(box.options[0]).run()
    assert quiet(at)
    assert len(at.dataframe) == 3
    assert len(at.dataframe[0].value) > 3


def test_words_on_a_chart_are_escaped() -> None:
    import pandas as pd

    rows = pd.DataFrame({"<b>x</b>": ["<i>a</i>", None], "$y$": [1, 2]})
    figure = charts.plot_answer(rows, "Bars", "light")
    assert figure.layout.xaxis.title.text == "&lt;b&gt;x&lt;/b&gt;"
    assert figure.data[0].x[0] == "&lt;i&gt;a&lt;/i&gt;"
    assert "$" not in figure.layout.yaxis.title.text


def test_the_page_says_what_a_question_sees_and_has_examples_for_it(page: AppTest) -> None:
    said = [one.value for one in page.caption]
    assert any("sees the whole report" in one for one in said)
    at = page.segmented_control("sql-about").set_value("All reports").run()
    assert quiet(at)
    assert any("every report that you may see" in one for one in [caption.value for caption in at.caption])
    assert "library_summary" in str(at.text_area("sql-text").value), "its first example runs at once"
    assert at.dataframe
    (examples,) = [one for one in at.selectbox if one.label == "Examples"]
    at = examples.select("The slowest reports by time in kernels").run()
    assert quiet(at)
    assert "library_measure" in str(at.text_area("sql-text").value)
    at.text_area("sql-text").set_value("SELECT 1")
    at = at.segmented_control("sql-about").set_value("This report").run()
    assert at.text_area("sql-text").value == "SELECT 1", "a question of one's own stays"
