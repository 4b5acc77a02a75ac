"""The What if page: predicted step times with changes, replayed from the report's calls, copies and kernels."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from app import session
from app.ui import chart_element, charts, page_elements, share_bar, tables, theme, url_widgets
from app.ui import format as fmt
from app.ui.table_columns import Col
from app.views.what_if import path_table
from profiledb.errors import AnalysisError
from profiledb.library.catalog import Manifest
from profiledb.replay import prediction
from profiledb.replay.changes import CHANGES
from profiledb.replay.lanes import Stretch
from profiledb.replay.prediction import MOST_CHANGES, Predicted, WhatIf
from profiledb.replay.saving import VERSION
from profiledb.rules.classes import OTHER
from profiledb.studies.scaling import family

_SAVED = "Saved"
COLUMNS = (
    Col("change", "Change", width=380),
    Col("saving_pct", "Saves", kind="bar", width=110, help="Share of the time that the steps take now"),
    Col("predicted_ns", "Then", kind="duration", help="How long the steps would take"),
    Col("low_ns", "At least", kind="duration", help="Lower end of the interval"),
    Col("high_ns", "At most", kind="duration", help="Upper end of the interval"),
    Col("next", "Largest part then", help="The kind that most of the critical path consists of with the change"),
    Col("next_pct", "Share", kind="percent", help="Its share of the time with the change"),
)


def draw_page() -> None:
    manifest = session.report()
    with st.spinner("Replaying the program…"):
        every = predict_changes(manifest, ())
    asked, without_effect = _predict_asked(manifest, every)
    options = {_format_change(one): one for one in [*every.predictions, *asked]}
    chosen = st.multiselect(
        "Changes",
        list(options),
        format_func=lambda text: options[text].title if text in options else text,
        placeholder="Choose, or type one of all changes, such as another_gpu=H200",
        accept_new_options=True,
        **url_widgets.bind_options("change", list(options), default=list(options)[:1]),
    )
    for reason in without_effect:
        st.caption(fmt.plain(reason))
    with st.expander("All changes"):
        _list_changes()
    predicted = predict_changes(manifest, tuple(chosen)).together if chosen else None
    _draw_facts(every, predicted)
    _draw_bars(every, predicted)
    _draw_steps(every, predicted)
    if predicted:
        st.caption(f"Assumed: {fmt.plain(predicted.assumes)}")
    st.subheader("Each change alone", anchor=False)
    if not options:
        st.info("No change that Warpdeck tries saves anything here.")
    rows = [
        {
            "change": one.title,
            "saving_pct": one.saving_pct,
            "predicted_ns": one.predicted_ns,
            "low_ns": one.low_ns,
            "high_ns": one.high_ns,
            "next": path_table.get_kind_title(one.next),
            "next_pct": one.next_pct,
        }
        for one in sorted(options.values(), key=lambda one: one.predicted_ns)
    ]
    if rows:
        tables.draw_table(pd.DataFrame(rows), COLUMNS, key="what-if", download="what_if.csv")
    _explain_refused(every)
    path_table.draw_path(manifest)


def predict_changes(manifest: Manifest, changes: Sequence[str]) -> WhatIf:
    """Return the predictions for a report, computed once and shared by all sessions."""
    library = session.library()
    ranks = family.find_ranks(library, manifest)
    key = session.make_key(manifest.id, f"what_if {VERSION}", {}, (*changes, *ranks))
    return session.work_out(key, lambda: prediction.predict(library, manifest.id, prediction.parse(changes), ranks))


def _predict_asked(manifest: Manifest, every: WhatIf) -> tuple[list[Predicted], list[str]]:
    """Return the predictions for changes in the address that the page does not try, and why others have none."""
    known = {_format_change(one) for one in every.predictions}
    predictions, reasons = list[Predicted](), list[str]()
    for text in dict.fromkeys(st.query_params.get_all("change")[:MOST_CHANGES]):
        if text in known:
            continue
        try:
            answer = predict_changes(manifest, (text,))
        except AnalysisError as error:
            reasons.append(f"{error.message} {error.hint or ''}".strip())
            continue
        predictions += answer.predictions
        reasons += [f"{one.title}: {one.reason}" for one in answer.refused]
        if not answer.predictions and not answer.refused:
            reasons.append(f"{text} changes nothing here.")
    return predictions, reasons


def _list_changes() -> None:
    """List all changes that a person can type, each with its assumption."""
    rows = [
        f"| `{one.name}={one.value}` | {one.assumes} |" if one.value else f"| `{one.name}` | {one.assumes} |"
        for one in CHANGES.values()
    ]
    st.markdown("\n".join(["| Change | It assumes |", "| --- | --- |", *rows]))


def _format_change(one: Predicted) -> str:
    """Return a change as the command line and the URL write it."""
    ((name, value),) = one.changes
    return f"{name}={value}" if value else name


def _draw_facts(every: WhatIf, predicted: Predicted | None) -> None:
    length = fmt.count(every.steps) + " steps" if every.steps else "The program"
    items = [(f"{length} now", fmt.duration(every.baseline_ns), "As recorded, from the first to the last of them.")]
    if predicted:
        items += [
            ("Then", fmt.duration(predicted.predicted_ns), "Replayed with the changes."),
            ("Between", f"{fmt.duration(predicted.low_ns)} – {fmt.duration(predicted.high_ns)}", _INTERVAL),
            ("Saves", fmt.percent(predicted.saving_pct), ""),
        ]
    if every.ranks > 1:
        items.append(("Ranks", fmt.count(every.ranks), "Reports of one run, replayed together."))
    items.append(("Unexplained", fmt.percent(every.error_pct), "Time of waits that nothing in the report explains."))
    page_elements.draw_facts(items)
    if every.alone:
        st.caption(fmt.plain(every.alone))


_INTERVAL = (
    "About 95 %: what differs between steps, 15 % of the saving for errors of the model, and what is unexplained."
)


def _draw_bars(every: WhatIf, predicted: Predicted | None) -> None:
    """Draw the critical path now and with the changes, on one axis."""
    st.caption("Critical path now")
    chart_element.draw_chart(
        charts.share_bar(_list_parts(prediction.sum_kinds(every.path), every), theme.get_theme()), "what-if-now"
    )
    if not predicted:
        return
    st.caption("Critical path then")
    parts = _list_parts(predicted.parts, every)
    parts.append(charts.Part(_SAVED, max(0.0, predicted.saving_pct), "", theme.tint(charts.NEUTRAL[theme.get_theme()])))
    chart_element.draw_chart(charts.share_bar(parts, theme.get_theme()), "what-if-then")


def _draw_steps(every: WhatIf, predicted: Predicted | None) -> None:
    """Draw the middle step now and with the changes, on one axis."""
    drawn = [("now", every.step)] + ([("then", predicted.step)] if predicted and predicted.step else [])
    rows = [
        (f"{lane} {when}", [_make_stretch(one) for one in stretches])
        for when, step in drawn
        for lane, stretches in (("Host", step.host), ("GPU", step.gpu))
    ]
    st.caption("The step in the middle" if every.steps else "All of it")
    length = max(step.length_ns for _, step in drawn)
    chart_element.draw_chart(charts.plot_lanes(rows, length, theme.get_theme()), "what-if-step")


def _make_stretch(one: Stretch) -> charts.Stretch:
    return charts.Stretch(one.begin_ns, one.end_ns, path_table.get_kind_title(one.kind), _choose_color(one.kind))


def _choose_color(kind: str) -> str:
    colors = theme.get_class_colors()
    return share_bar.get_color(kind) if kind in path_table.KINDS else colors.get(kind, colors[OTHER])


def _list_parts(kinds: Sequence[tuple[str, int]], every: WhatIf) -> list[charts.Part]:
    return [
        charts.Part(path_table.get_kind_title(kind), every.share_pct(ns), fmt.duration(ns), _choose_color(kind))
        for kind, ns in kinds
    ]


def _explain_refused(every: WhatIf) -> None:
    """Say which changes the report does not tell, and why."""
    if every.refused:
        st.caption("Not in this report")
        st.markdown("\n".join(f"- {fmt.plain(one.title)}: {fmt.plain(one.reason)}" for one in every.refused))


draw_page()
