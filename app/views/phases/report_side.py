"""A report on the Phases page: its rows by phase and class, for as much of the page's selection as applies to it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pandas as pd

from app import session
from app.selection import page_selection
from app.ui import format as fmt
from profiledb.errors import AnalysisError
from profiledb.library.catalog import Manifest
from profiledb.report.sidecar import get_stem
from profiledb.rules.phases import ALL
from profiledb.selection import model

LABEL = 20
"""Longest report name in a heading, in characters."""


@dataclass(frozen=True)
class Side:
    """One report of the page: its label (untrusted), and the parameters of its selection."""

    report: Manifest
    label: str
    params: Mapping[str, Any]
    notes: tuple[str, ...] = field(default=())

    def run(self, name: str, **params: Any) -> pd.DataFrame:
        """Run an analysis on this report with the side's selection."""
        return session.run_whole(self.report.id, name, **self.params, **params)

    @cached_property
    def phases(self) -> pd.DataFrame:
        """``matmul_split`` indexed by phase."""
        return self.run("matmul_split").set_index("phase", drop=False)

    @cached_property
    def by_phase(self) -> pd.DataFrame:
        """``phase_split`` with additional rows for all phases together."""
        rows = self.run("phase_split")
        sums = rows.groupby("class", sort=False)[["total_ns", "calls", "pass_ns", "pass_calls", "share_pct"]].sum(
            min_count=1
        )
        whole = sums.reset_index().assign(phase=ALL, phase_pct=sums["share_pct"].to_numpy(), passes=self.passes)
        return pd.concat([whole.sort_values("total_ns", ascending=False), rows], ignore_index=True)[list(rows.columns)]

    @cached_property
    def classes(self) -> pd.DataFrame:
        """The rows for all phases together, indexed by class."""
        return self.by_phase[self.by_phase["phase"] == ALL].set_index("class", drop=False)

    @property
    def passes(self) -> int | None:
        """Number of steps that per-step values are means over; None if the ranges show no steps."""
        number = fmt.number(self.phases["passes"].max()) if len(self.phases) else None
        return int(number) if number else None


def read_own(manifest: Manifest, label: str = "") -> Side:
    """Return the page's own report with the page's selection."""
    return Side(manifest, label, session.read_selected(manifest.id))


def read_other(manifest: Manifest, label: str, chosen: Mapping[str, Any]) -> Side:
    """Return a second report with the attribution mode and ranges of the page's selection, without its own warm-up."""
    paths = page_selection.run_or_none(manifest.id, "range_paths", ["is_warmup"])
    params = {"mode": chosen.get("mode", model.Selection().mode)}
    if bool(paths["is_warmup"].any()) and chosen.get("warmup") != "include":
        params["warmup"] = "exclude"
    notes = []
    if {"device", "stream", "from_ns", "to_ns"} & set(chosen):
        notes.append("GPU, stream and time apply to this page's report only.")
    ranges = {key: chosen[key] for key in ("range", "skip_first") if chosen.get(key)}
    if ranges:
        try:
            session.run_whole(manifest.id, "class_split", **params, **ranges)
            params |= ranges
        except AnalysisError as error:
            notes.append(
                f"{fmt.plain(fmt.visible(manifest.name))} is shown without a selection: {fmt.plain(error.message)}"
            )
    return Side(manifest, label, params, tuple(notes))


def choose_labels(first: str, second: str) -> tuple[str, str]:
    """Return short, distinct labels of two file names, without extensions and common leading words.

    Files of one name, as two profilers write them, are told apart by their extensions.
    """
    stems = [get_stem(name) for name in (first, second)]
    if stems[0] == stems[1]:
        stems = [name[len(stems[0]) :].lstrip(".") or name for name in (first, second)]
    words = [one.split("_") for one in stems]
    same = 0
    while same < min(map(len, words)) - 1 and words[0][same] == words[1][same]:
        same += 1
    short = [fmt.shortened("_".join(own[same:]), LABEL) for own in words]
    return (short[0], short[1]) if short[0] != short[1] else ("this", "other")
