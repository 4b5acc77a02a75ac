"""Findings: the bottlenecks of a report, their cost, advice on them, and the rules that could not be judged.

A rule is a documented SQL file, either ``profiledb/rules/findings/<group>/<rule>.sql`` or a file in a user's own
folder. rule.py parses its header, rulebook.py collects all rules, judge.py evaluates them on a selection, sentences.py
phrases their results, and output.py writes them as CSV, JSON and Markdown.
"""
