"""Findings: what holds a report back, what that costs, what to do, and what cannot be judged.

A rule is a documented SQL file: ``profiledb/rules/findings/<group>/<rule>.sql``, or one of a user's own folder. rule.py
reads its header, rulebook.py finds all rules, judge.py runs them on a selection, sentences.py makes sentences of what
they
answer, and output.py writes them as CSV, JSON and Markdown.
"""
