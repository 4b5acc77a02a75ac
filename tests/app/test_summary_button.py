"""The summary to download, and the iterations detected from kernels, on their pages."""

from app.views.phases import detected_iterations
from profiledb.library.library import Library
from tests.app.conftest import Dashboard, of, plain_texts


def test_the_button_is_on_the_first_page_of_each_kind(dashboard: Dashboard, library: Library) -> None:
    for page, name in (("summary", "transformer_training.nsys-rep"), ("ncu", "transformer_training.ncu-rep")):
        at = dashboard(page, report=of(library, name))
        assert not at.exception
        labels = [button.proto.label for button in at.get("download_button")]
        assert {"Summary (Markdown)", "Report (HTML)"} <= set(labels)


def test_iterations_that_kernels_tell(dashboard: Dashboard, library: Library) -> None:
    at = dashboard("phases", report=of(library, "attention.nsys-rep"))
    assert not at.exception
    assert "Iterations detected from kernels: 3" in [one.label for one in at.expander]
    assert "This is a guess" in plain_texts(at)
    shown = next(frame.value for frame in at.dataframe if "busy_ns" in frame.value)
    assert list(shown.columns) == [column.name for column in detected_iterations.ITERATIONS.shown]
    assert list(shown["number"]) == [1, 2, 3]
    none = dashboard("phases", report=of(library, "kernels.nsys-rep"))
    assert not any("Iterations" in one.label for one in none.expander)
