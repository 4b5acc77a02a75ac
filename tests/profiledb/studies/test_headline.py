"""The three statements on made-up rows, the choice among them, and those of the samples."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import pytest

from profiledb.errors import NotCapturedError
from profiledb.library.library import Library
from profiledb.query import analysis, captures, header
from profiledb.studies.summary import headline
from profiledb.studies.summary.statement import Statement
from tests.conftest import SAMPLES

IDLE = pd.DataFrame({"reason": ["host code", "launch call"], "window_pct": [30.0, 10.0], "share_pct": [75.0, 25.0],
                     "idle_ns": [3_000_000, 1_000_000]})  # fmt: skip
KERNELS = pd.DataFrame({"kernel": [7], "name": ["a`b"], "share_pct": [61.25], "total_ns": [2_000_000], "calls": [1]})
CLASSES = pd.DataFrame({"class": ["copy", "matmul"], "share_pct": [60.0, 40.0], "total_ns": [6e5, 4e5]})


def steps(*times: float, paths: bool = True) -> pd.DataFrame:
    rows = [
        {"path": f"step_{at}" if paths else "step", "name": f"step_{at}", "number": at + 1, "gpu_ns": ns, "cpu_ns": 1.0,
         "closed": True, "is_warmup": False}
        for at, ns in enumerate(times)
    ]  # fmt: skip
    return pd.DataFrame(
        [*rows, {**rows[0], "gpu_ns": 9e9, "is_warmup": True}, {**rows[0], "gpu_ns": 9e9, "closed": False}]
    )


def told(**answers: pd.DataFrame) -> list[Statement]:
    """The statements where these analyses have rows and all others lack their data."""

    def ask(name: str, **_: Any) -> pd.DataFrame:
        if name not in answers:
            raise NotCapturedError("It is not in this report.")
        return answers[name]

    return headline.find_statements(ask)


def test_an_idle_gpu_comes_first_whatever_else_is_larger() -> None:
    first, second = told(idle_reasons=IDLE, kernels=KERNELS.assign(total_ns=99_000_000))
    assert (
        first.text
        == "**The GPU is idle 40.0 % of the time** (4.00 ms). Main reason: non-CUDA code on the CPU (75.0 %)."
    )
    assert (first.page, second.page) == ("idle", "kernel")
    assert second.query == {"kernel": "7"}
    assert "``a`b`` takes 61.2 % of kernel time**: 99.0 ms in 1 launch." in second.text


def test_idle_time_of_a_part_or_of_several_gpus_says_of_what() -> None:
    part = BUSY.assign(active_ns=[4.2e6, NONE])
    whole = "4.00 ms of the 4.20 ms from its first operation to the end of its last"
    assert f"({whole})" in told(idle_reasons=IDLE, gpu_busy=part)[0].text
    assert "(4.00 ms)." in told(idle_reasons=IDLE, gpu_busy=part.assign(active_ns=[4e6, NONE]))[0].text, "all of it"
    assert "(4.00 ms)." in told(idle_reasons=IDLE, gpu_busy=part.assign(active_ns=[4.6e6, NONE]))[0].text
    two = BUSY.assign(operations=[9, 9], active_ns=[4e6, 6e6])
    assert "(4.00 ms of 10.0 ms, summed over 2 GPUs)" in told(idle_reasons=IDLE, gpu_busy=two)[0].text


def test_nothing_tells_why_a_gpu_is_idle() -> None:
    idle = IDLE.assign(reason=["unknown", "launch call"])
    assert told(idle_reasons=idle)[0].text.endswith("(4.00 ms). Nothing in the report tells why.")


def test_a_single_operation_tells_nothing_of_a_program() -> None:
    (said,) = told(kernels=KERNELS, gpu_busy=BUSY.assign(operations=[1, 0]))
    assert said.text.startswith(
        "**The GPU ran one operation in 5.00 ms**: ``a`b``, for 2.00 ms. That tells nothing about a program"
    )
    (said,) = told(kernels=KERNELS, gpu_busy=BUSY.assign(operations=[2, 0]))
    assert "takes 61.2 % of kernel time" in said.text


def test_little_idle_time_is_not_worth_a_statement() -> None:
    assert [one.page for one in told(idle_reasons=IDLE.assign(window_pct=[5.0, 4.9]), kernels=KERNELS)] == ["kernel"]


def test_a_step_as_a_whole_is_no_place() -> None:
    rows = pd.DataFrame({"range": ["ProfilerStep#*"], "level": [0], "share_pct": [90.0]})
    assert "Main reason: non-CUDA code" in told(idle_reasons=IDLE, idle_ranges=rows)[0].text
    inside = pd.concat([rows, rows.assign(range="ProfilerStep#*/load", level=1, share_pct=85.0)])
    assert (
        "For 85.0 % of that the CPU is in `ProfilerStep#*/load`" in told(idle_reasons=IDLE, idle_ranges=inside)[0].text
    )


def test_a_range_around_all_idle_time_is_no_place() -> None:
    """A step has only a pass as its range; `train *` is a step with another name."""
    for path, level, share in (("step_*/pass_*x", 1, 100.0), ("train *", 0, 81.0)):
        rows = pd.DataFrame({"range": [path.partition("/")[0], path][-1 - level :], "level": range(level + 1),
                             "share_pct": [share] * (level + 1)})  # fmt: skip
        assert "Main reason: non-CUDA code" in told(idle_reasons=IDLE, idle_ranges=rows)[0].text, path
    part = pd.DataFrame({"range": ["load"], "level": [0], "share_pct": [81.0]})
    assert "For 81.0 % of that the CPU is in `load`" in told(idle_reasons=IDLE, idle_ranges=part)[0].text


def test_ranges_that_nest_in_their_own_name_are_no_place() -> None:
    """They were pushed and never popped: the second `test` holds whatever follows."""
    paths = ["outer", "outer/test", "outer/test/test", "outer/test/test/test"]
    rows = pd.DataFrame({"range": paths, "level": range(4), "share_pct": [100.0, 100.0, 99.0, 97.0]})
    (only,) = told(idle_reasons=IDLE, idle_ranges=rows)
    assert "Main reason: non-CUDA code" in only.text
    inside = rows.assign(range=["outer", "outer/test", "outer/test/load", "outer/test/load/read"])
    assert "the CPU is in `outer/test/load/read`" in told(idle_reasons=IDLE, idle_ranges=inside)[0].text


def test_what_is_worth_a_hundredth_of_another_is_not_said() -> None:
    assert [one.page for one in told(class_split=CLASSES, kernels=KERNELS.assign(total_ns=100_000_000))] == ["kernel"]
    assert len(told(class_split=CLASSES, kernels=KERNELS)) == 2


def test_the_slowest_step_that_counts() -> None:
    found = headline.find_slowest(steps(10.0, 10.0, 13.0))
    assert found == headline.Slowest("step_2", 13.0, 10.0, 3)
    (only,) = told(iterations=steps(10e6, 10e6, 13e6, 10e6, 10e6))
    assert only.query == {"range": "step_2"}
    assert "takes 13.0 ms**, 1.3 times the median" in only.text
    (only,) = told(iterations=steps(10e6, 10e6, 13e6, 10e6, 10e6).assign(gpu_ns=NONE, cpu_ns=[1e6, 9e6, *[1e6] * 5]))
    assert "takes 9.00 ms on the CPU**, 9 times the median" in only.text
    assert headline.find_slowest(steps(1.0, 3.0, 2.0, paths=False)) == headline.Slowest("step#2", 3.0, 2.0, 3)
    nested = steps(1.0, 1.0, 1.0, 3.0).head(4).assign(path=["epoch_0/step"] * 2 + ["epoch_1/step"] * 2)
    assert headline.find_slowest(nested) == headline.Slowest("epoch_1/step#2", 3.0, 1.0, 4), "the second of its epoch"
    assert headline.find_slowest(steps(1.0, 2.0)) is None
    assert not told(iterations=steps(10e6, 10e6, 10e6, 10e6, 11e6)), "a tenth more is no news"
    assert not told(iterations=steps(10e6, 10e6, 13e6, 10e6)), "too few to compare"
    slow = steps(10e6, 10e6, 10e6, 10e6, 20e6)
    sizes = slow.assign(name=[f"tokens_{2**at}" for at in range(len(slow))])
    assert not told(iterations=sizes), "the largest has to take longest"
    assert told(iterations=sizes.assign(name=[f"part {at}" for at in range(len(slow))]))


def test_the_class_that_takes_most_beside_matmul() -> None:
    rows = pd.DataFrame({"class": ["copy", "matmul"], "share_pct": [60.0, 40.0], "total_ns": [6e6, 4e6]})
    assert "takes 60.0 % of kernel time**, matmul 40.0 %." in told(class_split=rows)[0].text
    assert told(class_split=rows[::-1].reset_index(drop=True))[0].text.startswith("**Matmul takes 40.0 %")
    assert not told(class_split=rows.head(1)), "one class is no split"
    three = pd.DataFrame({"class": ["copy", "convolution", "matmul"], "share_pct": [60.0, 39.8, 0.2], "total_ns": 1e6})
    assert (
        "takes 60.0 % of kernel time**, then Convolution with 39.8 %, matmul 0.2 %." in told(class_split=three)[0].text
    )


def test_two_classes_with_the_same_share_have_one_number() -> None:
    classes = pd.DataFrame({"class": ["matmul", "copy"], "share_pct": [50.0, 49.99], "total_ns": [6e5, 6e5]})
    (said,) = told(class_split=classes)
    assert said.text == "**Matmul and Copy and layout take 50.0 % of kernel time each**."


def test_matmul_is_no_word_where_nothing_is_of_a_model() -> None:
    rows = pd.DataFrame({"class": ["loop", "reduction"], "share_pct": [98.0, 2.0], "total_ns": [9.8e6, 2e5]})
    (only,) = told(class_split=rows)
    assert only.text == "**Compiler loop takes 98.0 % of kernel time**, then Reduction with 2.0 %."
    assert not told(class_split=rows.assign(share_pct=[99.0, 1.0])), "one class is all there is"
    assert not headline.is_neural_network(rows)
    assert "No kernel is a matmul" in told(class_split=rows.assign(**{"class": ["loop", "softmax"]}))[0].text


NONE = float("nan")
BUSY = pd.DataFrame({"operations": [9, 0], "busy_ns": [4e6, NONE], "copying_ns": [3e6, NONE], "kernel_ns": [1e6, NONE],
                     "active_ns": [4e6, NONE], "capture_ns": [5e6, 5e6]})  # fmt: skip
DIRECTIONS = pd.DataFrame({"direction": ["Host-to-Device"], "bytes": [5_000_000], "total_ns": [2e6]})


def test_copies_that_take_more_than_kernels() -> None:
    (only,) = told(gpu_busy=BUSY, copies=DIRECTIONS)
    assert only.text == "**Copies take 3.00 ms, kernels 1.00 ms.** All are `Host-to-Device`: 5.00 MB."
    back = DIRECTIONS.assign(direction=["Device-to-Host"], total_ns=[1e6])
    (two,) = told(gpu_busy=BUSY, copies=pd.concat([DIRECTIONS, back]))
    assert two.text == "**Copies take 3.00 ms, kernels 1.00 ms.** Most of it: `Host-to-Device`, 5.00 MB in 2.00 ms."
    assert (only.page, only.worth_ns) == ("memory", 3e6)
    assert not told(gpu_busy=BUSY.assign(kernel_ns=[3e6, NONE]), copies=DIRECTIONS)
    graphs = BUSY.assign(copying_ns=[1e6, NONE], kernel_ns=[0.0, NONE])
    (whole,) = told(gpu_busy=graphs, copies=DIRECTIONS)
    assert whole.text.startswith("**CUDA graphs take 3.00 ms, 75.0 % of the busy time.**"), "they are no kernels"
    few = graphs.assign(kernel_ns=[0.1e6, NONE])
    assert told(gpu_busy=few)[0].text.startswith("**CUDA graphs take 2.90 ms, 72.5 %"), "a few kernels beside them"
    (mostly,) = told(gpu_busy=graphs.assign(copying_ns=[3e6, NONE]), copies=DIRECTIONS)
    assert mostly.text.startswith("**Copies take 3.00 ms, CUDA graphs 1.00 ms.**")
    alone = BUSY.assign(copying_ns=[4e6, NONE], kernel_ns=[0.0, NONE])
    assert told(gpu_busy=alone, copies=DIRECTIONS)[0].text.startswith("**The GPU only copies, for 4.00 ms.**")


def test_nothing_is_said_of_a_report_without_work_alone() -> None:
    def ask(name: str, **_: Any) -> pd.DataFrame:
        if name == "gpu_busy":
            return BUSY
        raise NotCapturedError("It is not in this report.")

    assert headline.state_nothing(ask).startswith("**The GPU is busy 100.0 % of the time")


def test_a_program_that_used_only_the_cpu() -> None:
    def ask(name: str, **_: Any) -> pd.DataFrame:
        raise captures.explain_capture("kernel", asked_for=name in asked)

    asked = {"kernels"}
    assert headline.state_nothing(ask).endswith("the program used only the CPU.")
    asked = set()
    assert headline.state_nothing(ask).endswith("the program used only the CPU, or they were not traced.")


def test_a_report_of_little_but_start_up() -> None:
    """34 of 900 µs, in a capture of 5 ms: nearly all is idle, and no step explains it."""
    idle = IDLE.assign(window_pct=[90.0, 9.95])
    little = BUSY.assign(operations=[19, 0], busy_ns=[3.4e4, NONE], active_ns=[9e5, NONE], copying_ns=[0.0, NONE])
    said = told(idle_reasons=idle, gpu_busy=little)[0].text
    assert said.startswith("**The GPU is idle over 99.9 % of the time** (")
    assert "It works for 34.0 µs, in 19 operations, so the report shows little but start-up: record more steps." in said
    for other in (
        told(idle_reasons=IDLE, gpu_busy=little)[0],
        told(idle_reasons=idle, gpu_busy=little.assign(busy_ns=[2e6, NONE]))[0],
        told(idle_reasons=idle, gpu_busy=little.assign(active_ns=[4e5, NONE]))[1],
    ):
        assert "start-up" not in other.text, other.text


def test_a_gpu_that_hardly_works() -> None:
    little = BUSY.assign(busy_ns=[4e5, NONE], active_ns=[2e6, NONE], copying_ns=[0.0, NONE])
    first = told(gpu_busy=little, kernels=KERNELS)[0]
    assert first.text == (
        "**The GPU does nothing for 92.0 % of the capture**: it works for 400 µs of 5.00 ms, all within 2.00 ms."
    )
    pages = [one.page for one in told(gpu_busy=little, kernels=KERNELS, idle_reasons=IDLE)]
    assert pages == ["idle", "kernel"], "one of the two says it"
    tiny = little.assign(active_ns=[4.5e5, NONE])
    pages = [one.page for one in told(gpu_busy=tiny, kernels=KERNELS, idle_reasons=IDLE)]
    assert pages == ["timeline", "idle", "kernel"], "idle time is a share of a tenth of the capture"
    assert "(4.00 ms of these 450 µs)" in told(gpu_busy=tiny, idle_reasons=IDLE)[1].text
    alone = told(gpu_busy=tiny.assign(active_ns=[4e5, NONE]))[0]
    assert alone.text == "**The GPU does nothing for 92.0 % of the capture**: it works for 400 µs of 5.00 ms.", (
        "one number for both"
    )
    assert not told(gpu_busy=little.assign(active_ns=[3e6, NONE])), "then idle time says it, where there is any"
    facts = pd.DataFrame({"duration_ns": [8e6]})
    assert "for 92.0 % of the selected time**" in told(gpu_busy=tiny, report_facts=facts)[0].text
    assert "of the capture**" in told(gpu_busy=tiny, report_facts=facts.assign(duration_ns=5e6))[0].text


def test_autotuning_comes_before_what_is_larger() -> None:
    rows = pd.DataFrame({"class": ["convolution", "autotuning"], "share_pct": [60.0, 30.0], "total_ns": [6e6, 3e6]})
    first, second = told(class_split=rows)
    assert first.text.startswith("**Autotuning takes 30.0 % of kernel time**")
    assert first.query == {"class": "autotuning"}
    assert second.text == "**Convolution takes 60.0 % of kernel time**.", "the rest is told already"
    assert len(told(class_split=rows.assign(share_pct=[95.1, 4.9]))) == 1


def test_calls_are_told_where_there_is_no_gpu_work() -> None:
    rows = pd.DataFrame({"function": ["cudaFree", "cudaMemcpy"], "category": ["allocation", "blocking copy"],
                         "share_pct": [90.0, 10.0], "total_ns": [9e6, 1e6], "calls": [1, 2]})  # fmt: skip
    (one,) = told(api_calls=rows)
    assert one.text == (
        "**The program launched work, but the driver did not report it.** `cudaFree` takes 90.0 % of the time in CUDA"
        " calls: 9.00 ms in 1 call."
    )
    rows["category"] = ["allocation", "other"]
    (one,) = told(api_calls=rows)  # which of them takes most is no news
    assert one.text == (
        "**The program gave the GPU no work**: 3 CUDA calls took 10.0 ms in all, and none of them launches a kernel,"
        " copies or sets memory."
    )
    assert not told(api_calls=rows, gpu_busy=BUSY.assign(copying_ns=[0.0, NONE]))


def test_launches_that_become_part_of_a_graph_are_no_work() -> None:
    rows = pd.DataFrame({"function": ["cuStreamBeginCapture", "cudaLaunchKernel"], "category": ["other", "launch"],
                         "share_pct": [50.0, 50.0], "total_ns": [1e6, 1e6], "calls": [1, 2]})  # fmt: skip
    assert told(api_calls=rows)[0].text.startswith("**The report shows no work of a GPU**: the launches in it become")
    replayed = pd.concat([rows, rows.iloc[:1].assign(function="cuGraphLaunch", category="launch")])
    assert told(api_calls=replayed)[0].text.startswith("**The program launched work")


def test_kernels_without_a_class_are_named() -> None:
    rows = pd.DataFrame({"class": ["other", "matmul"], "share_pct": [60.0, 40.0], "total_ns": [6e6, 4e6]})
    kernels = (
        KERNELS.head(1)
        .loc[[0] * 5]
        .assign(name=["gemm", "a", "b", "c", "d"], share_pct=[40.0, 30.0, 15.0, 10.0, 5.0], total_ns=1.0)
    )
    kernels["class"] = ["matmul", *["other"] * 4]
    first = told(class_split=rows, kernels=kernels)[0]
    assert first.text == (
        "**60.0 % of kernel time is in kernels without a class.** Largest: `a` (30.0 %), `b` (15.0 %), `c` (10.0 %)"
        " and 1 more."
    )
    assert (first.page, first.query) == ("kernels", {"class": "other"})
    alone = kernels.head(2).assign(share_pct=[40.0, 60.0])
    assert [one.page for one in told(class_split=rows, kernels=alone)] == ["kernel"], "its one kernel is said anyway"


def test_three_at_most_and_none_without_data() -> None:
    rows = pd.DataFrame({"class": ["copy", "matmul"], "share_pct": [60.0, 40.0], "total_ns": [6e6, 4e6]})
    every: Mapping[str, pd.DataFrame] = {
        "idle_reasons": IDLE, "kernels": KERNELS, "class_split": rows,
        "iterations": steps(10e6, 10e6, 10e6, 10e6, 19e6),
    }  # fmt: skip
    assert [one.page for one in told(**every)] == ["idle", "kernels", "phases"]
    assert told() == []


@pytest.mark.parametrize(
    ("name", "first", "said"),
    [
        ("dataloader_starved.sqlite", "idle", "step_*/next_batch/transform_image"),
        pytest.param(
            "idle_host_bound.sqlite", "idle", "step_*/host_bookkeeping", marks=pytest.mark.slow("another report")
        ),
        ("streams_serial.sqlite", "memory", "Copies take 234 ms, kernels 64.0 ms"),
    ],
)
def test_samples(every_report: Library, name: str, first: str, said: str) -> None:
    if not (SAMPLES / name).exists():
        pytest.skip("no sample reports here")
    report = every_report.find(name.replace(".sqlite", ".nsys-rep"))

    def ask(asked: str, **params: Any) -> pd.DataFrame:
        whole = header.get(asked).taken({"warmup": "exclude"}) | params
        return analysis.run(every_report, report.id, asked, whole)

    statement = headline.find_statements(ask)[0]
    assert statement.page == first
    assert said in statement.text


def test_calls_lead_to_the_page_of_calls() -> None:
    rows = pd.DataFrame({"function": ["cudaLaunchKernel"], "category": ["launch"], "share_pct": [100.0],
                         "total_ns": [9e6], "calls": [9]})  # fmt: skip
    (one,) = told(api_calls=rows)
    assert (one.label, one.page) == ("All CUDA calls", header.get("api_calls").page)


MB = 10**6
DEVICES = pd.DataFrame(
    {"device": ["GPU 0", "GPU 1"], "peak_bytes": [600 * MB, 900 * MB], "peak_pct": [NONE, 45.0],
     "before_bytes": [0, 100 * MB], "end_bytes": [0, 400 * MB]}
)  # fmt: skip
HELD = pd.DataFrame(
    {"device": ["GPU 0", "GPU 1"], "bytes": [700 * MB, 1000 * MB], "free_bytes": [0, 200 * MB],
     "largest_free_bytes": [NONE, 50 * MB], "scattered_pct": [NONE, 75.0]}
)  # fmt: skip
PEAK = pd.DataFrame(
    {"device": "GPU 1", "part": ["named", "before", "rest"], "name": ["/home/me/train.py(7): loss", None, None],
     "share_pct": [80.0, 15.0, 5.0]}
)  # fmt: skip
KEPT = pd.DataFrame(
    {"device": ["GPU 0", "GPU 1", "GPU 1", "GPU 1"], "name": ["x.py(1): a", "a/b.py(2): f", "c.py(3): g", None],
     "net_bytes": [9e9, 1 * MB, 250 * MB, 5 * MB]}
)  # fmt: skip


def test_a_memory_snapshot_tells_the_device_that_holds_most() -> None:
    rows = {"tensor_memory": DEVICES, "tensor_fragmentation": HELD, "tensor_peak": PEAK, "tensor_allocations": KEPT}
    growth = pd.DataFrame({"device": ["GPU 1"], "grows": [True], "slope_bytes": [3.0 * MB]})
    peak, grown, held = (one.text for one in told(**rows, tensor_growth=growth))
    assert peak == (
        "**Tensors hold 900 MB at the peak on GPU 1**, 45.0 % of its memory. By what allocated it: `train.py(7): loss`"
        " 80.0 %, allocated before the capture 15.0 %."
    )
    assert grown == (
        "**Memory grows by 300 MB on GPU 1**, from 100 MB at the start of the capture to 400 MB at its end, by 3.00 MB"
        " per step. Not released: `c.py(3): g` 250 MB, `b.py(2): f` 1.00 MB."
    )
    assert held == (
        "**The allocator holds 1.00 GB on GPU 1, of which 200 MB is free**, when the snapshot was taken. The largest"
        " free block has 50.0 MB; a larger allocation takes more of the device. 75.0 % of the free memory lies in"
        " smaller blocks."
    )
    steady = DEVICES.iloc[[0]]
    unsteady = growth.assign(grows=pd.array([None], dtype="boolean"))
    _, grown, held = (one.text for one in told(tensor_memory=steady, tensor_fragmentation=HELD, tensor_growth=unsteady))
    assert grown == (
        "**Tensors hold no more at the end of the capture**: from 0 B at the start of the capture to 0 B at its end."
    )
    assert held == "**The allocator holds 700 MB, of which 0 B is free**, when the snapshot was taken."
    assert not any("Tensors" in one.text for one in told(**rows, gpu_busy=BUSY)), "a report with GPU work tells that"


def test_a_gpu_that_hardly_works_has_other_news_too() -> None:
    busy = BUSY.assign(
        busy_ns=[4e5, NONE], active_ns=[5e5, NONE], capture_ns=[9e9, NONE], copying_ns=[0.0, NONE], operations=[3, 0]
    )
    first, second = told(gpu_busy=busy, kernels=KERNELS.assign(total_ns=4e5, share_pct=100.0))
    assert first.text == (
        "**The GPU does nothing for over 99.9 % of the capture**: it works for 400 µs of 9.00 s, all within 500 µs."
    )
    assert second.text == "**``a`b`` takes all kernel time**: 400 µs in 1 launch."
    two = told(gpu_busy=busy.assign(**{one: [busy[one][0]] * 2 for one in ("busy_ns", "active_ns", "capture_ns")},
                                    operations=[3, 3]))[0].text  # fmt: skip
    assert two == "**The GPUs do nothing for over 99.9 % of the capture**: 2 GPUs together work for 800 µs of 18.0 s."


def test_a_single_copy_tells_nothing_of_a_program() -> None:
    one = BUSY.assign(operations=[1, 0], kernel_ns=[0.0, NONE], busy_ns=[2e6, NONE], copying_ns=[2e6, NONE])
    (said,) = told(gpu_busy=one, copies=DIRECTIONS)
    assert said.text.startswith(
        "**The GPU ran one operation in 5.00 ms**: a copy `Host-to-Device` of 5.00 MB, for 2.00 ms."
    )


def test_a_kernel_that_only_spins_is_no_work() -> None:
    (said,) = told(kernels=KERNELS.assign(name="spin_kernel"))
    assert said.text.endswith("It only spins, which delays its stream: that is no work.")


def test_calls_have_the_name_of_their_platform() -> None:
    names = {"hipMalloc": "HIP ", "cudaMalloc": "CUDA ", "cuMemAlloc": "CUDA ", "urEnqueue": ""}
    assert {name: headline.name_api(pd.Series([name])) for name in names} == names
    idle = IDLE.assign(reason=["other CUDA call", "launch call"])
    traits = pd.DataFrame({"trait": ["HIP"]})
    assert "Main reason: other HIP call" in told(idle_reasons=idle, program=traits)[0].text
