"""Charts as SVG made of a few rectangles and words, so that the file needs no script and stays small."""

from collections.abc import Callable, Sequence
from html import escape
from typing import Any

import pandas as pd

from profiledb import words
from profiledb.studies.summary.answers import Answers, get_class_title

WIDTH = 720
"""Width of a drawing in its own units; the page scales it."""
MOST_BARS = 10
_LABEL = 270
_ROW = 24
_STRIP = 90
_MOST_GPUS = 8
_MOST_STEPS = 200
_LONGEST = 32
_NAMED_PCT = 3.0
"""Least share of a part of the time that is named."""


def draw_time(answers: Answers) -> list[str]:
    """Draw where the time of the GPUs goes: one bar that adds up to 100 %, its largest parts named below."""
    rows = answers.rows("time_split")
    shapes, left, named = [], 0.0, []
    for place, row in enumerate(rows.to_dict("records")):
        wide = WIDTH * float(row["share_pct"]) / 100
        shade = 0.35 if row["kind"] == "idle" else 1.0
        shapes.append(
            _draw_rect(left, 0, max(wide - 1, 0.5), _ROW).replace("/>", f' fill-opacity="{shade - place % 2 * 0.15}"/>')
        )
        left += wide
        title = get_class_title(row["part"]) if row["kind"] == "kernels" else str(row["part"]).capitalize()
        if float(row["share_pct"]) >= _NAMED_PCT:
            named.append(f"{title} {words.percent(row['share_pct'])}".replace("\\", ""))
    idle = float(rows.loc[rows["kind"] == "idle", "share_pct"].sum())
    title = f"{words.duration(rows['ns'].sum())} of GPU time, {words.percent(idle)} idle (pale)"
    legend = f"<p>{escape(', '.join(named))}</p>"
    return [_draw_figure(title, _ROW, shapes).replace("</figure>", f"{legend}</figure>")] if len(rows) else []


def draw_busy(answers: Answers) -> list[str]:
    """Draw how busy each GPU was over the selected time, with a scale."""
    rows = answers.rows("busy_timeline")
    drawn = []
    for gpu, part in list(rows.groupby("gpu_id"))[:_MOST_GPUS]:
        first, last = float(part["start_ns"].min()), float(part["end_ns"].max())
        scale, shares = WIDTH / ((last - first) or 1), part["busy_pct"].astype(float) / 100
        bars = [
            _draw_rect((begin - first) * scale, _STRIP * (1 - share), (end - begin) * scale, _STRIP * share)
            for begin, end, share in zip(part["start_ns"], part["end_ns"], shares, strict=True)
            if share
        ]
        ends = f'<text x="0" y="{_STRIP + 18}">{words.duration(first)}, axis 0 to 100 %</text>' + _draw_right_text(
            _STRIP + 18, words.duration(last)
        )
        drawn.append(_draw_figure(f"GPU {gpu}: busy over time", _STRIP + 24, [*bars, ends]))
    return drawn


def draw_classes(answers: Answers) -> list[str]:
    """Draw kernel time by class."""
    rows = answers.rows("class_split").head(MOST_BARS)
    titles = [get_class_title(value).replace("\\", "") for value in rows["class"]]
    return _draw_bars("Kernel time by class", titles, rows)


def draw_kernels(answers: Answers) -> list[str]:
    """Draw the kernels with the most time."""
    rows = answers.rows("kernels").head(MOST_BARS)
    return _draw_bars("Kernels by total time", list(rows["name"]), rows)


def draw_steps(answers: Answers) -> list[str]:
    """Draw the CPU time of each step of the program's loop, with the warm-ups in the selection."""
    rows = answers.rows("iterations")
    rows = rows[rows["rank"] == 1].head(_MOST_STEPS)
    durations = rows["cpu_ns"].astype(float)
    longest = durations.max()
    if rows.empty or not longest > 0:
        return []
    wide = WIDTH / len(rows)
    bars = [
        _draw_rect(at * wide, _STRIP * (1 - one / longest), max(wide - 1, 0.5), _STRIP * one / longest)
        for at, one in enumerate(durations)
        if one > 0
    ]
    ends = f'<text x="0" y="{_STRIP + 18}">first</text>' + _draw_right_text(_STRIP + 18, "last")
    return [_draw_figure(f"Time of each step on the CPU, up to {words.duration(longest)}", _STRIP + 24, [*bars, ends])]


CHARTS: Sequence[Callable[[Answers], list[str]]] = (draw_time, draw_busy, draw_classes, draw_kernels, draw_steps)
"""The charts in the order of the page; each raises NotCapturedError if the report lacks its data."""


def _draw_bars(title: str, names: Sequence[Any], rows: pd.DataFrame) -> list[str]:
    """Draw one bar per row, proportional to its share of kernel time, with its name before and its time behind."""
    if rows.empty:
        return []
    room, most = WIDTH - _LABEL - 120, float(rows["share_pct"].max() or 1)
    shapes = []
    values = zip(names, rows["share_pct"].astype(float), rows["total_ns"], strict=True)
    for at, (name, share, total_ns) in enumerate(values):
        y, wide = at * _ROW, room * share / most
        label = f"{words.duration(total_ns)}, {words.percent(share)}"
        shapes.append(f'<text x="{_LABEL - 8}" y="{y + 16}" text-anchor="end">{_escape_text(name)}</text>')
        shapes.append(_draw_rect(_LABEL, y + 3, wide, _ROW - 7))
        shapes.append(f'<text x="{_LABEL + wide + 6:.1f}" y="{y + 16}">{_escape_text(label)}</text>')
    return [_draw_figure(title, len(rows) * _ROW, shapes)]


def _draw_figure(title: str, height: int, shapes: Sequence[str]) -> str:
    """Return a drawing under its title; its words are text, and the table below repeats them for readers who cannot
    see it.
    """
    name = escape(title)
    return (
        f'<figure><figcaption>{name}</figcaption><svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{name}">'
        f"{''.join(shapes)}</svg></figure>"
    )


def _draw_rect(x: float, y: float, width: float, height: float) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"/>'


def _draw_right_text(y: int, text: str) -> str:
    return f'<text x="{WIDTH}" y="{y}" text-anchor="end">{_escape_text(text)}</text>'


def _escape_text(text: Any) -> str:
    return escape(words.shortened(text, _LONGEST))
