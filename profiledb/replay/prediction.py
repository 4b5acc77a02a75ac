"""Predict how long a program would take with a change, and the uncertainty of that."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from profiledb.errors import AnalysisError, NotCapturedError
from profiledb.library.library import Library
from profiledb.replay import critical_path, graph, lanes, ranks, simulation, slack
from profiledb.replay.changes import CHANGES, Apply, Change
from profiledb.replay.critical_path import Piece, Segment
from profiledb.replay.graph import Graph
from profiledb.replay.joined_part import build_part, find_inside
from profiledb.replay.lanes import Lanes
from profiledb.replay.moments import find_first_call, map_moments, measure_step_lengths
from profiledb.replay.part import cut_part, find_launched
from profiledb.replay.ranks import MOST_RANKS
from profiledb.replay.simulation import Replayed
from profiledb.replay.source import Source, find_views, read_source
from profiledb.replay.window import (
    bound_steps,
    choose_window,
    read_steps,
)

MOST_ERROR_PCT = 3.0
"""Maximum error of the unchanged replay, in percent of its length; above it, the report is not replayed."""
USUAL = 95
"""Percentile up to which lags count as usual."""
MODEL_ERROR = 0.15
"""Relative error of a predicted saving: Daydream (USENIX ATC 2020) measured errors up to 15 %."""
HOST_ERROR = 0.15
"""Relative difference of the host's time between two runs of a program: pairs of captures differ by that much in code
that is the same in both halves."""
MOST_CHANGES = 20
"""Maximum number of changes per question; each needs a replay of its own."""
LEAST_SAVING_PCT = 0.5
"""Savings below this are not listed unless the user names the change."""
LEAST_COMMON = 0.5
"""Minimum fraction of the steps of a report that all others of its run have, too."""
MOST_OPERATIONS = 30_000
"""Maximum number of operations to replay: a longer program repeats itself, and steps in its middle are
representative."""


@dataclass(frozen=True)
class Predicted:
    """A prediction for the part of a program with changes: lengths in ns, with an interval of about 95 %.

    ``baseline_ns`` is the length without changes. ``parts`` are the kinds on the critical path with the changes, the
    longest first. ``step`` draws the middle step, if the changes were asked for.
    """

    changes: tuple[tuple[str, str], ...]
    title: str
    assumes: str
    baseline_ns: int
    predicted_ns: int
    low_ns: int
    high_ns: int
    parts: tuple[tuple[str, int], ...]
    step: Lanes | None = None

    @property
    def saving_ns(self) -> int:
        """Return the time that the changes save."""
        return self.baseline_ns - self.predicted_ns

    @property
    def saving_pct(self) -> float:
        """Return it as a share of the length without changes, in percent."""
        return _compute_share_pct(self.saving_ns, self.baseline_ns)

    @property
    def next(self) -> str:
        """Return the kind that takes the most of the critical path with the changes."""
        return self.parts[0][0] if self.parts else ""

    @property
    def next_pct(self) -> float:
        """Return its share of the length in percent."""
        return _compute_share_pct(self.parts[0][1], self.predicted_ns) if self.parts else 0.0


@dataclass(frozen=True)
class Refused:
    """A change whose effect the report does not tell, with the reason."""

    change: tuple[str, str]
    title: str
    reason: str


@dataclass(frozen=True)
class WhatIf:
    """Predictions for a part of a report; times in ns of the capture.

    ``ranks`` are the reports of one run that are replayed together; ``alone`` says why others of the run are not.
    ``error_pct`` is the share of the length that nothing in the report explains. ``together`` is the prediction with
    all requested changes applied, if none of them is refused. ``step`` draws the middle step, or all without steps.
    """

    begin_ns: int
    end_ns: int
    steps: int
    ranks: int
    alone: str
    baseline_ns: int
    replayed_ns: int
    error_pct: float
    path: list[Piece]
    slack: list[slack.Slack]
    predictions: list[Predicted]
    refused: list[Refused]
    together: Predicted | None
    step: Lanes

    def share_pct(self, ns: int) -> float:
        """Return a time as a share of the unchanged length, in percent."""
        return _compute_share_pct(ns, self.baseline_ns)


def _compute_share_pct(ns: int, whole_ns: int) -> float:
    return 100 * ns / whole_ns if whole_ns else 0.0


def predict(
    library: Library, report_id: str, wanted: Sequence[tuple[str, str]] = (), peers: Sequence[str] = ()
) -> WhatIf:
    """Predict the effect of changes, each alone and all together. Without any, try all that apply, the best first.

    Args:
        library: holds the report.
        report_id: the report.
        wanted: names of changes with their values, empty if a change takes none.
        peers: reports of the other ranks of its run, which are replayed with it if they have the same steps.

    Raises:
        AnalysisError: a change does not exist, or its value is missing or invalid.
        NotCapturedError: the report has no calls or no operations, or its unchanged replay is too inaccurate.
    """
    if len(wanted) > MOST_CHANGES:
        raise AnalysisError(f"At most {MOST_CHANGES} changes can be replayed at once.")
    changes = [find_change(name, value) for name, value in wanted]
    case = open_case(library, report_id, peers)
    tries = changes or [(one, value) for one in CHANGES.values() for value in one.values(case.graph, case.part)]
    least = -float("inf") if changes else LEAST_SAVING_PCT / 100 * case.baseline
    predictions, refused = list[Predicted](), list[Refused]()
    for change, value in tries:
        try:
            predictions += filter(None, [case.predict([(change, value)], least)])
        except NotCapturedError as error:
            reason = f"{error.message} {error.hint or ''}".strip()
            refused.append(Refused((change.name, value), change.describe(value), reason))
    together = None
    if refused and changes:
        pass
    elif len(changes) > 1:
        together = case.predict(changes)
    elif changes:
        together = next(iter(predictions), None)
    else:
        predictions.sort(key=lambda one: one.predicted_ns)
    window = case.window
    return WhatIf(
        window.begin_ns, window.end_ns, len(window.steps), case.ranks, case.alone, case.baseline, case.explained,
        case.error_pct, critical_path.sum_pieces(case.path()), case.slack(), predictions, refused, together,
        case.draw_step(case.graph),
    )  # fmt: skip


def open_case(library: Library, report_id: str, peers: Sequence[str] = ()) -> "Case":
    """Read the part of a report to replay, with the same part of its peers if they have it.

    Raises:
        NotCapturedError: the report has no calls or no operations, or its unchanged replay is too inaccurate.
    """
    count = min(1 + len(peers), MOST_RANKS)
    with library.cursor(report_id, views=find_views()) as db:
        own = read_source(library, report_id, db, choose_window(library, report_id, db, MOST_OPERATIONS // count))
    case = Case(graph.build(own.recording), own)
    if peers:
        try:
            case = _join_ranks(library, report_id, own, peers)
        except NotCapturedError as error:
            case.alone = f"The other ranks of this run are left out: {error.message}"
    if not case.replays_as_recorded():
        raise NotCapturedError(
            "The replay of this report does not give the recorded times, so a prediction would mislead.",
            why="Its times contradict each other, or events are missing.",
        )
    if case.error_pct > MOST_ERROR_PCT:
        raise NotCapturedError(
            f"Nothing in this report explains waits of {case.error_pct:.0f} % of its time, so a replay would mislead.",
            why="Operations begin long after their launch and all that is known to hold them back: they may wait for"
            " events, for other processes or for other GPUs.",
        )
    return case


def sum_kinds(pieces: Iterable[Piece | Segment]) -> tuple[tuple[str, int], ...]:
    """Return the length of a critical path by kind, the longest first, in ns."""
    counted: Counter[str] = Counter()
    for piece in pieces:
        counted[piece.kind] += piece.ns
    return tuple(counted.most_common())


def parse(texts: Sequence[str]) -> list[tuple[str, str]]:
    """Return names and values of changes written as NAME or NAME=VALUE."""
    return [(name, value) for name, _, value in (text.partition("=") for text in texts)]


def find_change(name: str, value: str) -> tuple[Change, str]:
    if name not in CHANGES:
        raise AnalysisError(f"There is no change {name!r}.", hint=f"Changes: {', '.join(CHANGES)}.")
    change = CHANGES[name]
    if bool(value) != bool(change.value):
        wants = f"takes {change.value}: {name}=..." if change.value else "takes no value"
        raise AnalysisError(f"The change {name} {wants}.")
    change.parse(value)
    return change, value


def _join_ranks(library: Library, report_id: str, own: Source, peers: Sequence[str]) -> "Case":
    """Return the case of all ranks of a run, whose parts are the same steps."""
    if not own.window.steps:
        raise NotCapturedError("No steps tell which parts are the same.")
    steps_by_report = {}
    for one in (report_id, *peers[: MOST_RANKS - 1]):
        with library.cursor(one, views=find_views()) as db:
            steps_by_report[one] = read_steps(library, one, db)
    common = [number for number in own.window.steps if all(number in steps for steps in steps_by_report.values())]
    if len(common) < LEAST_COMMON * len(own.window.steps):
        raise NotCapturedError("One of their reports lacks some of the steps.")
    sources = []
    for one, steps in steps_by_report.items():
        window = bound_steps({number: steps[number] for number in common})
        if one == report_id and len(common) == len(own.window.steps):
            sources.append(own)
            continue
        with library.cursor(one, views=find_views()) as db:
            window = replace(window, represents_ns=own.window.represents_ns)
            sources.append(read_source(library, one, db, window))
    joined = ranks.join([one.recording for one in sources], [
        find_launched(one.recording, find_inside(one.recording.calls, one.window)) for one in sources
    ])  # fmt: skip
    return Case(graph.build(joined.recording, joined.collectives), *sources, joined=joined)


def cap_lags(built: Graph) -> Graph:
    """Return the graph with each lag capped at the 95th percentile of its kind, and the time after waits likewise.

    If a replay of it is shorter, nothing in the capture explains the difference.
    """
    operations, calls = built.recording.operations, built.recording.calls
    launch_lag, stream_lag = built.launch_lag.copy(), built.stream_lag.copy()
    kinds = 2 * operations.kind + graph.mask_graph_nodes(built.recording)
    for kind in np.unique(kinds):
        ours = kinds == kind
        for lag in (launch_lag, stream_lag):
            lag[ours] = np.minimum(lag[ours], int(np.percentile(lag[ours], USUAL)))
    other = list(built.other_lag.values())
    most_other = int(np.percentile(other, USUAL)) if other else 0
    other_lag = {j: min(lag, most_other) for j, lag in built.other_lag.items()}
    rests: dict[int, list[int]] = {}
    for i, rest in built.after_wait.items():
        rests.setdefault(int(calls.name[i]), []).append(rest)
    most = {name: int(np.percentile(times, USUAL)) for name, times in rests.items()}
    after_wait = {i: min(rest, most[int(calls.name[i])]) for i, rest in built.after_wait.items()}
    return replace(built, launch_lag=launch_lag, stream_lag=stream_lag, other_lag=other_lag, after_wait=after_wait)


class Case:
    """A program with its length as recorded and without unexplained waits, in ns.

    ``alone`` says why the other ranks of its run are not among its ``ranks``.
    """

    def __init__(self, built: Graph, *sources: Source, joined: ranks.Joined | None = None) -> None:
        self.graph, self.window = built, sources[0].window
        self.ranks, self.alone = len(sources), ""
        self.part = build_part(built, sources, joined)
        own = np.ones(len(built.chain), np.bool_) if joined is None else joined.rank_of_call == 0
        self._own = self.part.operations & find_launched(built.recording, own)
        self._original = simulation.replay(built)
        mine = np.flatnonzero(built.chain == built.chain[find_first_call(built, self.window)])
        last = int(np.searchsorted(built.recording.calls.start[mine], self.window.end_ns, "right")) - 1
        self._last_call = int(mine[last]) if last >= 0 else -1
        self._steps = measure_step_lengths(built, self.window, self._original)
        self.baseline = self._measure_length(self._original)
        self.explained = self._measure_length(simulation.replay(cap_lags(built)))
        self.error_pct = _compute_share_pct(abs(self.explained - self.baseline), self.baseline)

    def replays_as_recorded(self) -> bool:
        """Return True if the unchanged replay has the times of the capture."""
        calls, operations, out = self.graph.recording.calls, self.graph.recording.operations, self._original
        recorded = (calls.start, calls.end, operations.start, operations.end)
        replayed = (out.call_begin, out.call_end, out.begin, out.end)
        return all(np.array_equal(one, other) for one, other in zip(recorded, replayed, strict=True))

    def path(self) -> list[Segment]:
        """Return the critical path of the unchanged program."""
        return self._trace(self.graph, self._original)

    def _trace(self, graph: Graph, replayed: Replayed) -> list[Segment]:
        begin, left, ended = self._find_moments(replayed)
        return critical_path.trace(graph, replayed, begin, max(left, ended), self._last_call if left >= ended else -1)

    def find_span(self, step: int | None = None) -> tuple[int, int]:
        """Return the bounds of the part, or those of a step, which lasts until the next one starts; in ns.

        Raises:
            AnalysisError: the step is not among those that are replayed.
        """
        begin, end = self._find_bounds(self._original)
        if step is None:
            return begin, end
        if step not in self.window.steps:
            numbers = [*self.window.steps]
            replayed = f"Steps {numbers[0]} to {numbers[-1]} are." if numbers else "Nothing marks steps."
            raise AnalysisError(f"Step {step} is not among those that are replayed.", hint=replayed)
        following = [first for first, _ in self.window.steps.values() if first > self.window.steps[step][0]]
        return self.window.steps[step][0], min(following, default=end)

    def draw_step(self, graph: Graph, replayed: Replayed | None = None) -> Lanes:
        """Draw the middle step of a replay, of its host and its GPU with the most operations, or all without steps."""
        replayed, numbers = replayed or self._original, [*self.window.steps]
        begin, end = self._find_bounds(replayed)
        if numbers:
            bounds = np.array(self.find_span(numbers[len(numbers) // 2]), np.int64)
            begin, end = map_moments(graph, self.window, replayed, bounds).tolist()
        devices = graph.recording.operations.device
        own, count = np.unique(devices[self._own], return_counts=True)
        operations = devices == own[np.argmax(count)] if len(own) else self._own
        chain = graph.chain == graph.chain[find_first_call(graph, self.window)]
        return lanes.draw(graph, replayed, begin, end, chain, operations)

    def slack(self, step: int | None = None) -> list[slack.Slack]:
        """Return how much longer kernels, calls and ranges may take, of all steps or of one."""
        _, end = self._find_bounds(self._original)
        ends = np.where(self._own, end, slack.NEVER)
        leaves = dict[int, int]()
        if self._last_call >= 0:  # the host leaves the part as long after its last call as recorded
            rest = max(0, self._find_host_end() - int(self.graph.recording.calls.end[self._last_call]))
            leaves[self._last_call] = end - rest
        latest = slack.compute_latest(self.graph, self._original, ends, leaves)
        part = self.part if step is None else cut_part(self.graph, self.part, *self.find_span(step))
        return slack.measure_part(self.graph, self._original, part, latest)

    def predict(self, chosen: Sequence[tuple[Change, str]], least_ns: float = -float("inf")) -> Predicted | None:
        """Return the prediction with changes, or None if they have no effect or save no more than ``least_ns``."""
        changed = self._change_graph([(change.apply, value) for change, value in chosen])
        if changed is self.graph:
            return None
        replayed = simulation.replay(changed)
        begin, end = self._find_bounds(replayed)
        length = int((end - begin) / changed.items)
        if self.baseline - length <= least_ns:
            return None
        path = sum_kinds(self._trace(changed, replayed))
        parts = tuple((kind, int(ns / changed.items)) for kind, ns in path)
        errors = self._estimate_errors(replayed, length, changed.items, parts)
        unexplained = abs(self.explained - self.baseline)
        bounds = [*self._try_bounds(chosen)]
        lengths = [[length, *(self._measure_length(simulation.replay(one)) / one.items for one in of)] for of in bounds]
        less = np.linalg.norm([*(length - min(tried) for tried in lengths), *errors])
        more = np.linalg.norm([*(max(tried) - length for tried in lengths), *errors])
        busy = min(self._measure_busy(one) for one in (changed, *(one for tried in bounds for one in tried)))
        return Predicted(
            tuple((change.name, value) for change, value in chosen),
            "; ".join(change.describe(value) for change, value in chosen),
            " ".join(change.assumes for change, _ in chosen),
            self.baseline, length, max(min(int((1 - MODEL_ERROR) * busy), length), int(length - less - unexplained)),
            int(length + more + unexplained), parts,
            None if np.isfinite(least_ns) else self.draw_step(changed, replayed),
        )  # fmt: skip

    def _try_bounds(self, chosen: Sequence[tuple[Change, str]]) -> Iterator[list[Graph]]:
        """Yield for each change the graphs with its cautious and its hopeful bound, and the other changes as they are.

        Assumptions are independent, so one change at a time is at its bounds.
        """
        for place, (change, _) in enumerate(chosen):
            tried = []
            for bound in filter(None, (change.cautious, change.hopeful)):
                applied = [bound if at == place else one.apply for at, (one, _) in enumerate(chosen)]
                tried.append(self._change_graph([
                    (apply, value) for apply, (_, value) in zip(applied, chosen, strict=True)
                ]))  # fmt: skip
            yield tried

    def _measure_busy(self, graph: Graph) -> int:
        """Return how long the busiest stream works for the part, in ns, without collectives, which may only wait."""
        operations = graph.recording.operations
        working = self._own & ~operations.in_class("communication")
        _, stream = np.unique(np.stack([operations.device, operations.stream])[:, working], axis=1, return_inverse=True)
        return int(np.bincount(stream.ravel(), graph.length[working]).max(initial=0) / graph.items)

    def _change_graph(self, chosen: Sequence[tuple[Apply, str]]) -> Graph:
        """Return the graph with changes; the unchanged graph if none has an effect."""
        changed = self.graph
        for apply, value in chosen:
            changed = apply(changed, self.part, value) or changed
        return changed

    def _find_bounds(self, replayed: Replayed) -> tuple[int, int]:
        """Return the start of the part in a replay, and when the host has left it and its last operation has ended."""
        begin, left, ended = self._find_moments(replayed)
        return begin, max(left, ended)

    def _find_moments(self, replayed: Replayed) -> tuple[int, int, int]:
        """Return when the part starts in a replay, when the host leaves it, and when its last operation ends."""
        bounds = np.array([self.window.begin_ns, self._find_host_end()])
        begin, left = map_moments(self.graph, self.window, replayed, bounds).tolist()
        return begin, left, int(np.array(replayed.end)[self._own].max(initial=begin))

    def _find_host_end(self) -> int:
        """Return when the host leaves the part: without steps, nothing tells of host work after the last call."""
        if self.window.steps:
            return self.window.end_ns
        mine = self.graph.chain == self.graph.chain[find_first_call(self.graph, self.window)]
        return min(self.window.end_ns, int(self.graph.recording.calls.end[mine].max()))

    def _measure_length(self, replayed: Replayed) -> int:
        begin, end = self._find_bounds(replayed)
        return end - begin

    def _estimate_errors(
        self, replayed: Replayed, length: int, items: float, parts: Sequence[tuple[str, int]]
    ) -> tuple[float, float, float]:
        """Return the spread between steps, the error of the model, and that of the host's time that is left, in ns.

        They are those of one replay, however many changes it has.
        """
        spread = 0.0
        if len(self._steps) > 2:
            gained = self._steps - measure_step_lengths(self.graph, self.window, replayed) / items
            spread = 1.96 * float(np.std(gained, ddof=1)) * len(gained) ** 0.5
        model = MODEL_ERROR * (self.baseline - length)
        host = HOST_ERROR * sum(ns for kind, ns in parts if kind in (critical_path.HOST, critical_path.CALLS))
        return spread, model, host
