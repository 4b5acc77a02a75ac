"""Savings predicted by replay: by hand, on samples, and for findings that keep their bound."""

import json
from dataclasses import replace

import duckdb
import pytest

from profiledb.errors import NotCapturedError
from profiledb.findings import advice, output, predictions, rulebook, sentences
from profiledb.findings import judge as judges
from profiledb.findings import rule as rules
from profiledb.findings.finding import Finding, Prediction, Together
from profiledb.findings.rule import PLACE, Rule
from profiledb.library.library import Library
from profiledb.replay import prediction
from tests.findings.test_rulebook import HEADER
from tests.support.gaps import by_hand
from tests.support.page_reports import Publish

SAMPLE = "transformer_inference.nsys-rep"
TWICE = "faster_kernels=matmul:2"
MORE = pytest.mark.slow("judges another capture by hand")
MENDED = [one for one in rulebook.load().values() if one.changes]


def rule(name: str, change: str, saving_ns: int = 1_000) -> Rule:
    header = HEADER.replace("-- unit:", f"-- change: {change}\n-- unit:")
    return rules.parse(name, f"{header}SELECT 12.0 AS value, {saving_ns}::BIGINT AS saving_ns;", "idle")


def judged(library: Library, report: str, *several: Rule, **params: str) -> list[Finding]:
    return judges.judge(library, library.find(report), params, several)


def test_the_saving_is_that_of_the_replay(publish: Publish, empty_library: Library) -> None:
    """By hand: three kernels of 1,000 ns, one after the other from 100 ns on.

    Twice as fast, they end at 1,600 ns instead of 3,100. That share is the saving of the 3,000 ns that are judged.
    """
    report = by_hand(publish, [(0, 10, 100, 1_100), (10, 20, 1_100, 2_100), (20, 30, 2_100, 3_100)])
    (found,) = judged(empty_library, report, rule("slow", TWICE))
    assert (found.saving_ns, found.at_most_ns) == (int(3_000 * 1_500 / 3_100), 1_000)
    assert found.saving_pct == pytest.approx(100 * 1_500 / 3_100)
    assert found.prediction is not None
    assert found.prediction.low_ns < 1_451 < found.prediction.high_ns
    record = output.record(found)
    assert record["change"] == TWICE
    assert (record["saving_low_ns"], record["saving_high_ns"]) == (found.prediction.low_ns, found.prediction.high_ns)


def test_a_frame_leaves_a_finding_that_saves_little(publish: Publish, empty_library: Library) -> None:
    """The finding above it saves 1,451 ns, as above: a quarter of 5,804 ns that nobody claims of the frame."""
    report = by_hand(publish, [(0, 10, 100, 1_100), (10, 20, 1_100, 2_100), (20, 30, 2_100, 3_100)])
    (above,) = judged(empty_library, report, rule("slow", TWICE))
    header = HEADER.replace("-- unit:", "-- level: frame\n-- unit:")
    idle = rules.parse("idle", f"{header}SELECT 12.0 AS value, 1 AS saving_ns;", "idle")
    frame = replace(above, rule=idle, parent="slow", prediction=None)

    def free(own_saving_ns: int) -> str | None:
        return predictions._free_frames([above, replace(frame, own_saving_ns=own_saving_ns)])[1].parent

    assert (free(5_804), free(5_805)) == ("slow", None)
    assert predictions._free_frames([above, replace(frame, rule=above.rule, own_saving_ns=9_000)])[1].parent == "slow"


@pytest.mark.parametrize(
    ("spans", "said"),
    [
        ([(500, 510, 100, 1_100), (1_200, 1_210, 1_300, 2_300)], "50 % of the kernels are missing or begin after them"),
        pytest.param(
            [(500, 510, 100, 1_100), (2_000, 2_010, 1_300, 1_900)], "100 % of the kernels are missing", marks=MORE
        ),
        pytest.param([(0, 10, 100, 50), (10, 20, 150, 140)], "Nothing ran on a GPU", marks=MORE),
    ],
)
def test_times_that_contradict_each_other_are_a_sentence_and_no_number(
    publish: Publish, empty_library: Library, spans: list[tuple[int, int, int, int]], said: str
) -> None:
    """Host and GPU clocks disagree, once and in a cycle; kernels end before they start."""
    report = by_hand(publish, spans)
    with pytest.raises(NotCapturedError, match=said):
        prediction.predict(empty_library, report, [])
    (found,) = judged(empty_library, report, rule("slow", TWICE))
    assert found.prediction is None


@pytest.mark.parametrize(
    ("lost", "said"),
    [
        ("DELETE FROM api_call", "no CUDA calls"),
        pytest.param("DELETE FROM api_call WHERE start_ns = 0", "50 % of the kernels are missing", marks=MORE),
        ("UPDATE kernel SET call_id = NULL WHERE start_ns = 100", "50 % of the kernels are missing"),
        pytest.param("UPDATE api_call SET end_ns = NULL", "no CUDA calls", marks=MORE),
        ("UPDATE kernel SET end_ns = NULL", "Nothing ran on a GPU"),
    ],
)
def test_missing_events_are_a_sentence_and_no_number(
    publish: Publish, empty_library: Library, lost: str, said: str
) -> None:
    """Lost calls, kernels without a launch, and a capture that ended before calls or kernels did."""

    def lose(db: duckdb.DuckDBPyConnection) -> None:
        db.execute(lost)

    report = by_hand(publish, [(0, 10, 100, 1_100), (10, 20, 1_100, 2_100)], lose)
    with pytest.raises(NotCapturedError, match=said):
        prediction.predict(empty_library, report, [])


@pytest.mark.parametrize(
    ("change", "saving_ns", "params"),
    [
        (TWICE, 1_000, {"from_ns": "0", "to_ns": "2000"}),  # the replay is of all
        pytest.param(TWICE, 10, {}, marks=MORE),  # 0.3 % of the time
        pytest.param("balanced_ranks", 1_000, {}, marks=MORE),  # there are no ranks
        ("fly", 1_000, {}),
    ],
)
def test_without_a_replay_the_bound_stays(
    publish: Publish, empty_library: Library, change: str, saving_ns: int, params: dict[str, str]
) -> None:
    report = by_hand(publish, [(0, 10, 100, 1_100), (10, 20, 1_100, 2_100), (20, 30, 2_100, 3_100)])
    (found,) = judged(empty_library, report, rule("slow", change, saving_ns), **params)
    assert (found.prediction, found.saving_ns) == (None, saving_ns)
    assert output.record(found)["change"] is None


def test_time_before_the_gpu_works_is_not_judged(publish: Publish, empty_library: Library) -> None:
    """In a program without steps, the replay includes 9 ms of start-up, but the judged 3,000 ns do not."""
    late = 9_000_000
    calls = [(0, 10, 100 + late, 1_100 + late), (late, late + 10, 1_100 + late, 3_100 + late)]
    (found,) = judged(empty_library, by_hand(publish, calls), rule("slow", TWICE))
    assert found.prediction is None


def test_the_first_findings_are_replayed_together(nsys_samples: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    several = [rule("graph", "cuda_graph", 3_000_000), rule("waits", "without_waits", 3_000_000)]
    found = judged(nsys_samples, SAMPLE, *several, warmup="exclude")
    changes = [one.rule.changes[0] for one in found]
    told = prediction.predict(nsys_samples, nsys_samples.find(SAMPLE).id, prediction.parse(changes))
    assert [one.saving_pct for one in found] == pytest.approx([one.saving_pct for one in told.predictions])
    assert found[0].saving_pct > found[1].saving_pct, "the finding that saves more comes first"  # type: ignore[operator]
    assert found[0].together == found[1].together
    together, every = found[0].together, told.together
    assert together is not None
    assert every is not None
    assert together.prediction.pct == pytest.approx(every.saving_pct)
    assert together.prediction.pct >= found[0].prediction.pct  # type: ignore[union-attr]
    record = json.loads(output.format_json(found))[0]["together"]
    assert record["rules"] == [one.rule.name for one in found]
    assert sentences.describe_savings(found) == "", "the graph alone saves about as much"

    monkeypatch.setattr(prediction, "open_case", None)  # what was predicted is stored
    assert judged(nsys_samples, SAMPLE, *several, warmup="exclude") == found


def test_findings_with_the_same_change_are_one(publish: Publish, empty_library: Library) -> None:
    report = by_hand(publish, [(0, 10, 100, 1_100), (10, 20, 1_100, 2_100), (20, 30, 2_100, 3_100)])
    found = judged(empty_library, report, rule("slow", TWICE), rule("slower", TWICE, 500))
    assert [(one.rule.name, one.parent) for one in found] == [("slow", None), ("slower", "slow")]


def test_a_place_that_a_change_does_not_explain_stands_by_itself(publish: Publish, empty_library: Library) -> None:
    """Doubling the speed of 6 µs of products saves half: a quarter of 12 µs, and more of the time of a smaller place.

    A cause with the same change comes first, although it explains less.
    """
    report = by_hand(publish, [(0, 10, 100, 2_100), (10, 20, 2_100, 4_100), (20, 30, 4_100, 6_100)])
    cause = rule("cause", TWICE, 1_000)
    place = rule("place", f"{TWICE}\n-- level: place", 5_000)
    assert [(one.rule.name, one.parent) for one in judged(empty_library, report, place, cause)] == [
        ("cause", None), ("place", "cause"),
    ]  # fmt: skip
    slightly = "faster_kernels=matmul:1.1"  # a tenth of the time, less than a quarter of 5 µs
    cause, place = rule("cause", slightly, 1_000), rule("place", f"{slightly}\n-- level: place", 5_000)
    assert [(one.rule.name, one.parent) for one in judged(empty_library, report, place, cause)] == [
        ("cause", None), ("place", None),
    ]  # fmt: skip


def test_a_prediction_saves_no_more_than_the_time_that_it_comes_from(publish: Publish, empty_library: Library) -> None:
    """By hand: five launches of 100 ns every 3 µs, each of a kernel of 1 µs, so the GPU is idle for 8 of 13 µs.

    As a CUDA graph they take little more than the kernels. If another cause explains 5 of these 8 µs, 3 are left.
    """
    launches = [(3_000 * i, 3_000 * i + 100, 3_000 * i + 200, 3_000 * i + 1_200) for i in range(5)]
    report = by_hand(publish, launches)
    waits = "-- parts: host code, launch call, launch latency, between operations"
    (alone,) = judged(empty_library, report, rule("graph", f"cuda_graph\n{waits}", 1_000))
    several = [rule("graph", f"cuda_graph\n{waits}", 1_000), rule("other", f"host_code=none\n{waits}", 5_000)]
    found = {one.rule.name: one for one in judged(empty_library, report, *several)}
    assert alone.prediction is not None
    assert found["graph"].prediction is not None
    reach = found["graph"].reach_ns
    assert reach is not None
    assert 1_000 < reach < alone.prediction.ns
    told = found["graph"].prediction
    assert (told.ns, told.high_ns) == (reach, reach) == (alone.reach_ns - 5_000, told.high_ns)  # type: ignore[operator]
    assert told.low_ns == min(alone.prediction.low_ns, reach)
    assert (found["graph"].saving_ns, found["graph"].saving_pct) == (told.ns, told.pct)
    assert told.pct == pytest.approx(alone.prediction.pct * reach / alone.prediction.ns, rel=1e-3)


def test_reads_are_what_launches_that_wait_for_results_need() -> None:
    one = rulebook.load()["launch_bound"]
    assert [one.list_changes(cause) for cause in ("reads", None)] == [("without_waits",), ("cuda_graph",)]


@pytest.mark.parametrize("one", MENDED, ids=lambda one: one.name)
def test_rules_declare_changes_that_exist(one: Rule) -> None:
    columns = {column.name: column.unit for column in one.analysis.columns}
    for change in map(advice.strip_conditions, one.changes):
        assert all(columns[place["column"]] in ("name", "text") for place in PLACE.finditer(change))
        prediction.find_change(*prediction.parse([PLACE.sub("tf32", change)])[0])


def test_the_cause_chooses_the_change() -> None:
    one = rule("slow", "[file] without_range=dump\n-- change: [else] cuda_graph")
    assert [one.list_changes(cause) for cause in ("file", None)] == [("without_range=dump",), ("cuda_graph",)]


def told(ns: int, low_ns: int, high_ns: int, pct: float = 20.0) -> Finding:
    share = pct * high_ns / ns if ns else 3.0
    return Finding(
        MENDED[0], "fires", value=12.0, saving_ns=ns, saving_pct=pct,
        prediction=Prediction(("cuda_graph",), ns, low_ns, high_ns, pct, share),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (
            told(5_000_000, 4_000_000, 6_000_000),
            "Saves about 5.00 ms (20.0 % of the time), between 4.00 ms and 6.00 ms",
        ),
        (told(5_000_000, 0, 6_000_000), "Saves about 5.00 ms (20.0 % of the time), at most 6.00 ms"),
        (told(5_000_000, 4_000_000, 5_000_000), "Saves about 5.00 ms (20.0 % of the time), at least 4.00 ms"),
        (told(5_000_000, 5_000_000, 5_000_000), "Saves about 5.00 ms (20.0 % of the time)"),
        (told(0, 0, 1_000_000, 0.0), "Saves little by itself, at most 1.00 ms (3.0 % of the time)"),
        (told(0, 0, 0, 0.0), "Saves little by itself"),
        (told(5_000_000, 0, 25_000_000), "Saves about 5.00 ms (20.0 % of the time)"),
    ],
)
def test_a_predicted_saving_in_words(found: Finding, said: str) -> None:
    assert sentences.describe_saving(found) == said


def test_more_than_the_time_of_the_finding_is_explained() -> None:
    found = replace(told(5_000_000, 5_000_000, 5_000_000), at_most_ns=2_000_000)
    said = "Saves about 5.00 ms (20.0 % of the time)"
    assert sentences.describe_saving(found) == f"{said}, because the change shortens other waits, too"
    assert sentences.describe_saving(replace(found, at_most_ns=5_000_000)) == said
    assert found.prediction
    precision = replace(found, prediction=replace(found.prediction, changes=("precision=bf16",)))
    assert sentences.describe_saving(precision) == f"{said}, because the change makes other kernels faster, too"


def test_little_is_at_most_what_the_rule_says() -> None:
    found = replace(told(0, 0, 1_000_000, 0.0), at_most_ns=500_000)
    assert sentences.describe_saving(found) == "Saves little by itself, at most 500 µs (1.5 % of the time)"
    found = replace(told(5_000_000, 4_000_000, 8_000_000), at_most_ns=6_000_000)
    assert sentences.describe_saving(found).endswith(", between 4.00 ms and 6.00 ms")


def test_a_change_that_saves_more_comes_before_the_finding_above_it(publish: Publish, empty_library: Library) -> None:
    """Of 6 µs of products without gaps: twice as fast they save half, ten times as fast nine tenths."""
    report = by_hand(publish, [(0, 10, 100, 2_100), (10, 20, 2_100, 4_100), (20, 30, 4_100, 6_100)])
    twice, tenfold = (f"faster_kernels=matmul:{times}\n-- parts: kernels" for times in (2, 10))
    found = judged(empty_library, report, rule("less", twice, 6_000), rule("more", tenfold, 5_900))
    assert [(one.rule.name, one.parent) for one in found] == [("more", None), ("less", "more")]
    assert [one.own_saving_ns for one in found] == [found[1].saving_ns, 0]


def test_savings_together_in_words() -> None:
    found = told(5_000_000, 4_000_000, 6_000_000)
    assert found.prediction
    rules_ = (MENDED[0], MENDED[1], MENDED[2])
    first, second, third = (one.title for one in rules_)
    every = [Finding(one, "fires") for one in rules_]
    every[0] = replace(every[0], together=Together(rules_, found.prediction))
    said = f"Fixing “{first}”, “{second}” and “{third}” together saves about 5.00 ms (20.0 % of the time), "
    assert sentences.describe_savings(every) == f"{said}between 4.00 ms and 6.00 ms."
    untitled = sentences.describe_savings(every, titled=False)
    assert untitled.startswith("Fixing the first finding, the second and the third together saves about 5.00 ms")
    assert sentences.describe_savings(every[:2]) == "", "the third is not told"
    assert sentences.describe_savings([*every[:2], replace(found, rule=rules_[2])]) == "", "one alone saves as much"
    nearly = replace(told(4_900_000, 4_000_000, 6_000_000), rule=rules_[2])
    assert sentences.describe_savings([*every[:2], nearly]) == "", "or about as much"
    assert sentences.describe_savings([Finding(MENDED[0], "fires")]) == ""
