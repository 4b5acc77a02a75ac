"""The Findings page: problems in order of their cost, rules that are clear, and rules that cannot be judged."""

import streamlit as st

from app import session
from app.ui import format as fmt
from app.ui import judged_findings, page_elements, time_bar
from app.views.findings import card, other_verdicts
from profiledb.findings import judge, program, sentences
from profiledb.studies.summary import paths
from profiledb.words import code


def draw_page() -> None:
    manifest = session.report()
    part = judged_findings.draw_covered(manifest)
    with st.spinner(judged_findings.JUDGING):
        findings = judged_findings.judge_report(manifest, startup=part is None)
    fires = [one for one in findings if one.verdict == "fires"]
    open_ = [one for one in findings if one.verdict == "cannot_judge"]
    clear = [one for one in findings if one.verdict == "clear"]
    costly = judge.select_costly(findings)
    remarks = [one for one in fires if not one.rule.costs and not one.parent]
    page_elements.draw_facts(
        [
            (
                "Findings",
                fmt.count(len(costly)),
                "Rules that fire and cost time, without those that stand under another one.",
            ),
            ("Remarks", fmt.count(len(remarks)), "About the capture and the quality of its figures."),
            ("Clear", fmt.count(len(clear)), "Rules that were checked and do not fire."),
            ("Not judged", fmt.count(len(open_)), "Rules for which the report lacks data."),
        ]
    )
    _draw_program(judge.get_program(findings))
    time_bar.draw_bar(manifest.id, part.times if part else {})
    if not costly:
        why = paths.NO_TIMES if paths.has_sums_only(manifest) else sentences.explain_nothing(findings)
        st.markdown(why + (" See the remarks." if fires else ""))
    for finding in costly:
        card.draw_card(manifest.id, finding, judge.select_below(finding, findings))
    if together := sentences.describe_savings(findings):
        st.caption(fmt.plain(together))
    if costly:
        st.caption(
            "“At most” is an upper bound, “about” a prediction by replay. A finding that shares most of its time with"
            " another one stands under it."
        )
    other_verdicts.draw_remarks(manifest.id, remarks)
    other_verdicts.draw_unjudged(open_)
    other_verdicts.clear(clear)
    other_verdicts.draw_rulebook(findings)


def _draw_program(of: program.Program) -> None:
    """Draw one line on the kind of program, with the evidence as its tooltip."""
    if description := program.describe_program(of):
        st.caption(description, help="\n".join(f"- {one.trait}: {code(one.evidence)}" for one in of))


draw_page()
