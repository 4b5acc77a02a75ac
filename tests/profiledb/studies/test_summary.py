"""The summary of a report as text, and all of its analyses as files: the figures are those of the analyses."""

import csv
from dataclasses import replace
from functools import cache
from pathlib import Path

import duckdb
import pandas as pd
import pytest

from profiledb import words
from profiledb.access.cli import main as cli
from profiledb.errors import AnalysisError, NotCapturedError, NotLinkedError, WarpdeckError
from profiledb.findings import program, rulebook, sentences
from profiledb.findings.finding import Finding
from profiledb.findings.trace_overhead import Slowed
from profiledb.library.library import Library
from profiledb.query import analysis, export, header
from profiledb.studies.summary import answers, document, ncu, nsys, top_findings
from profiledb.studies.summary.statement import Statement
from tests.conftest import CORPUS, ingest_files
from tests.support.every_report import slow_but
from tests.support.page_reports import Publish, insert, kernel
from tests.support.page_reports import name as kernel_name

TRAINING = "transformer_training.nsys-rep"
SUMMARIZED = (TRAINING, "transformer_inference.nsys-rep", "attention.nsys-rep")


@cache
def made(library: Library, name: str, **params: str) -> str:
    """The summary of a report; most tests ask for that of the training."""
    report = library.find(name)
    return document.write_summary(library, report, document.get_page_params(library, report, params))


def section(text: str, title: str) -> list[list[str]]:
    """The rows of the tables of a section, their cells."""
    lines = text.partition(f"## {title}\n")[2].partition("\n## ")[0].splitlines()
    return [line.strip("| ").split(" | ") for line in lines if line.startswith("| ") and "| ---" not in line]


def rows(library: Library, name: str, analysis_name: str, **params: object) -> list[dict[str, object]]:
    report = library.find(name)
    chosen = document.get_page_params(library, report, {}) if header.get(analysis_name).by_part else {}
    return analysis.run(library, report.id, analysis_name, chosen | params).to_dict("records")  # type: ignore[return-value]


def test_it_names_the_range_that_the_host_was_in(nsys_samples: Library) -> None:
    text = made(nsys_samples, "dataloader_starved.nsys-rep")
    (most,) = [
        row["share_pct"]
        for row in rows(nsys_samples, "dataloader_starved.nsys-rep", "idle_ranges")
        if row["range"] == "step_*/next_batch/transform_image"
    ]
    assert f"The CPU was in `step_*/next_batch/transform_image` during {words.percent(most)} of idle time." in text


@pytest.mark.parametrize("name", slow_but([TRAINING], SUMMARIZED, "the summaries of more reports"))
def test_every_figure_is_that_of_its_analysis(nsys_samples: Library, name: str) -> None:
    text, library = made(nsys_samples, name), nsys_samples
    (busy,) = rows(library, name, "gpu_busy")
    assert section(text, "GPU time")[1] == [
        words.count(busy["gpu_id"]), words.percent(busy["busy_active_pct"]), words.percent(busy["idle_pct"]),
        words.duration(busy["busy_ns"]), words.duration(busy["active_ns"]),
        words.duration(busy["kernel_ns"]), words.duration(busy["copy_ns"]),
    ]  # fmt: skip
    split = [
        [words.percent(one["share_pct"]), words.duration(one["total_ns"])] for one in rows(library, name, "class_split")
    ]
    assert [row[1:3] for row in section(text, "Matmul against the rest")][-len(split) :] == split
    whole = rows(library, name, "matmul_split")[0]
    assert f"Matmul takes **{words.percent(whole['matmul_pct'])}** of kernel time" in text
    first = rows(library, name, "top_kernels", limit=5)[0]
    assert section(text, "Top kernels")[1][2:7] == [
        words.code(words.shortened(first["name"], 80)), answers.get_class_title(str(first["class"])),
        words.percent(first["share_pct"]), words.duration(first["total_ns"]), words.count(first["calls"]),
    ]  # fmt: skip
    idle = [[one["reason"], words.duration(one["idle_ns"])] for one in rows(library, name, "idle_reasons")]
    assert [[row[0].replace("\\", ""), row[1]] for row in section(text, "Why the GPU was idle")[1:]] == idle
    copied = [[words.duration(one["total_ns"]), words.count(one["count"])] for one in rows(library, name, "copies")]
    assert [row[1:3] for row in section(text, "Memcpy and memset")[1:]] == copied


def test_steps_and_attention_of_training(nsys_samples: Library) -> None:
    text = made(nsys_samples, TRAINING)
    (gpu,), (host,) = (rows(nsys_samples, TRAINING, "iteration_summary", by=side) for side in ("gpu", "cpu"))
    figures = ("first_ns", "median_ns", "min_ns", "max_ns")
    assert section(text, "Steps")[1:] == [
        [
            side,
            words.count(one["count"]),
            words.count(one["warmup"]),
            *(words.duration(one[f]) for f in figures),
            words.percent(one["cv_pct"]),
        ]
        for side, one in (("GPU", gpu), ("host", host))
    ]
    parts = [words.duration(one["kernel_ns"]) for one in rows(nsys_samples, TRAINING, "attention_parts")]
    assert [row[4] for row in section(text, "Attention")[1:]] == parts
    assert "To record this: `warpdeck profile --with metrics" in text


def test_attention_of_unknown_size_has_one_line_for_all_steps() -> None:
    figures = {"calls": [1, 2, 3, 4, 5], "kernel_ns": [10, 30, 20, 40, 7], "share_pct": [25.0, 75.0, 33.3, 66.7, 100.0]}
    variants = ["answer 1", "answer 1", "answer 2", "answer 2", "part 3"]
    parts = ["scores", "softmax", "scores", "softmax", "fused"]
    rows = pd.DataFrame({"variant": variants, "part": parts, "tokens": None, "flops": None} | figures)
    columns = ["variant", "part", "calls", "kernel_ns", "share_pct"]
    assert nsys.merge_steps(rows)[columns].to_numpy().tolist() == [
        ["answer *", "scores", 4, 30, 30.0], ["answer *", "softmax", 6, 70, 70.0], ["part 3", "fused", 5, 7, 100.0],
    ]  # fmt: skip
    sized = rows.assign(tokens=512)
    assert nsys.merge_steps(sized) is sized


def test_the_selection_decides(nsys_samples: Library) -> None:
    text = made(nsys_samples, TRAINING, range="forward")
    assert "`range=forward`" in text
    assert section(text, "GPU time") != section(made(nsys_samples, TRAINING), "GPU time")
    with pytest.raises(AnalysisError, match="no parameter"):
        made(nsys_samples, TRAINING, limit="3")


@pytest.mark.slow("the summary of every report of strangers")
@pytest.mark.skipif(not (CORPUS / "streams_4090.nsys-rep").is_file(), reason="the corpus is not here")
def test_strangers(every_report: Library) -> None:
    streams = made(every_report, "streams_4090.nsys-rep")
    assert "matmul" not in streams
    assert "## Kernel classes" in streams
    assert "In Other: `kernel_1` (27.7 %)" in streams
    assert "No ranges show steps. The kernel `kernel_1` repeats 3 times" in streams
    assert "- NVTX ranges, for time by range: The capture asked for it, but nothing was recorded." in streams
    without = made(every_report, "wsl2_no_kernels.nsys-rep")
    assert without.count("No GPU activity was recorded") == 1
    calls = rows(every_report, "wsl2_no_kernels.nsys-rep", "api_calls")
    assert [row[3] for row in section(without, "CUDA API")[1:]] == [words.duration(c["total_ns"]) for c in calls[:5]]
    (first,) = in_short(without)
    share, total = words.percent(calls[0]["share_pct"]), words.duration(calls[0]["total_ns"])
    assert f"`{calls[0]['function']}` takes {share} of the time in CUDA calls: {total} in " in first
    assert "The driver did not report what the GPU ran" in without.partition("## Findings")[2].partition("##")[0]


@pytest.mark.slow("two traces of strangers, imported for it alone")
def test_strangers_traces(tmp_path: Path) -> None:
    amd, jax = "kineto_mi250_minitoy_train_ROCm6_2_kineto.pt.trace.json.gz", "jax_te_attention.xplane.pb"
    if not all((CORPUS / name).exists() for name in (amd, jax)):
        pytest.skip("the strangers' traces are not in ../shared/corpus")
    ingest_files(tmp_path, [CORPUS / amd, CORPUS / jax])
    library = Library(tmp_path / "library")
    assert "other HIP call" in [row[0] for row in section(made(library, amd), "Why the GPU was idle")]
    steps_of_cpu = made(library, jax)
    assert "## Top kernels" in steps_of_cpu
    assert "Launches per step" not in steps_of_cpu, "their kernels run on after the last step"


def in_short(text: str) -> list[str]:
    """The facts that a summary begins with."""
    return [line[2:] for line in text.partition("## In short\n")[2].partition("\n## ")[0].splitlines() if line]


@pytest.mark.slow("the summaries of five reports of strangers")
@pytest.mark.skipif(not (CORPUS / "streams_4090.nsys-rep").is_file(), reason="the corpus is not here")
def test_the_facts_that_dominate_come_first(every_report: Library) -> None:
    """By nsys stats: copies take 3.3 s, 1.2 s of them overlapping, and kernels 11 ms; redzone_checker takes 30.0 %."""
    assert in_short(made(every_report, "copies_dominate.nsys-rep"))[0] == (
        "**Copies take 2.13 s, kernels 11.2 ms.** Most of it: `Host-to-Device`, 40.4 GB in 2.12 s."
    )
    idle, autotuning, convolution = in_short(made(every_report, "keras_autotuning.qdrep"))
    assert idle.startswith(
        "**The GPU is idle 91.0 % of the time** (4.49 s of the 4.93 s from its first operation to the end of its last)."
        " For 56.3 % of that the CPU is in `Forward:"
    )
    assert autotuning.startswith("**Autotuning takes 30.0 % of kernel time**")
    assert "leave it out" in autotuning
    assert convolution.startswith("**Convolution takes 60.0 % of kernel time**")
    (little,) = in_short(made(every_report, "mpi_h100.nsys-rep"))
    assert little.startswith("**The GPU ran one operation in 1.86 s**: `gpuKernel`, for 1.38 µs.")
    (nothing,) = in_short(made(every_report, "cpu_only_t4.nsys-rep"))
    assert nothing.startswith("This report has no GPU activity and no CUDA calls")
    assert "matmul" not in made(every_report, "openacc_v100.nsys-rep")


@pytest.mark.integration
@pytest.mark.skipif(not (CORPUS / "streams_4090.nsys-rep").is_file(), reason="the corpus is not here")
def test_what_was_measured_of_kernels(every_report: Library) -> None:
    only, largest = in_short(made(every_report, "rms_norm_triton_2025.ncu-rep"))
    assert only.startswith("**Only kernels that initialize data were measured.**")
    assert "549 µs in 1 launch, compute bound, occupancy 43.4 % of 50.0 % possible." in largest


@pytest.mark.slow("the summaries of four more reports of strangers")
@pytest.mark.skipif(not (CORPUS / "streams_4090.nsys-rep").is_file(), reason="the corpus is not here")
def test_what_was_not_measured_of_kernels_and_the_advice_of_ncu(every_report: Library) -> None:
    unknown, nothing = in_short(made(every_report, "own_metrics.ncu-rep"))
    assert unknown.endswith(": 10.8 ms in 1 launch."), "not measured is no verdict"
    assert "Nothing tells what limits the launches" in nothing
    rules = rows(every_report, "naive_gemm_1660s.ncu-rep", "ncu_rules")
    told = {str(one["rule"]): float(str(one["speedup_pct"])) for one in rules if one["speedup_type"] == "global"}
    assert max(told, key=told.__getitem__) == "CPIStall", "the launch runs at more than 60 % of its peak, though"
    del told["CPIStall"]
    best = max(told, key=told.__getitem__)
    advice = in_short(made(every_report, "naive_gemm_1660s.ncu-rep"))[1]
    assert best == "MemoryCacheAccessPattern"
    assert advice.startswith(
        f"**ncu's best further advice saves up to {words.percent(told[best])} of `naive_gemm`** (launch 1, rule"
        f" `{best}`): The memory"
    )
    for small in ("vec_add_1660s_full.ncu-rep", "attention.ncu-rep"):
        assert "further advice" not in made(every_report, small), "under 5 % of the measured time"


@pytest.mark.slow("the summary of another report")
def test_savings_together_of_what_is_not_told(nsys_samples: Library) -> None:
    """The finding on synchronization is the fourth one."""
    text = made(nsys_samples, "transformer_inference.nsys-rep")
    assert ("take turns waiting" in text, "together saves" in text) == (False, False)


def test_what_the_profiler_costs_is_said_once() -> None:
    slowed = Slowed(0.5, ("with_stack",), "up to 4 ms")
    one = Finding(rulebook.load()["launch_bound"], "fires", value=30.0, slowed=slowed)
    assert slowed.sentence() in top_findings.format_item(one)
    assert slowed.sentence() not in top_findings.format_item(one, [one])
    assert slowed.sentence() not in top_findings.format_item(one, slowed=[slowed.sentence()])


def test_a_small_part_of_a_capture_is_worth_tuning_or_not() -> None:
    small = Statement("**The GPU does nothing** within 2.00 ms.", 8e6, "", "timeline", within=True)
    one = Finding(rulebook.load()["launch_bound"], "fires", value=30.0, saving_ns=5, saving_pct=5.0)
    (told,) = top_findings.select_statements([small], [one])
    assert told.text == "**The GPU does nothing** within 2.00 ms, to which shares of the time refer."
    idle = Statement("Idle (1 ms of these 2.00 ms).", 1e6, "", "idle")
    assert top_findings.select_statements([small, idle], [one])[0].text == small.text, "that says it"
    little = replace(one, is_little=True)
    (told,) = top_findings.select_statements([small], [little])
    assert told.text.endswith("That is too little to be worth tuning: capture a run with more work.")
    assert not top_findings.select_shown([little])
    assert sentences.do_first([little]) == ""
    assert sentences.explain_nothing([little]) == "Nothing found that costs enough time to be worth a change."
    rule = rulebook.load()["gpu_idle"]
    frame = Finding(rule, "fires", value=50.0, cause="launch call", saving_ns=5)
    remark = top_findings.find_idle_remark([replace(frame, is_little=True)])
    assert (bool(top_findings.find_idle_remark([frame])), remark) == (True, "")


def test_a_finding_that_saves_little_does_not_repeat_advice() -> None:
    book = rulebook.load()
    work = Finding(book["host_work"], "fires", value=70.0, cause="launches", saving_ns=70, saving_pct=70.0)
    jax = (program.Trait("JAX", "kernel a"),)
    for pct, rule, shown in ((0.8, "launch_bound", 1), (20.0, "launch_bound", 2), (0.8, "sync_bound", 2)):
        other = Finding(book[rule], "fires", value=pct, saving_ns=5, saving_pct=pct)
        told = top_findings.select_shown([replace(work, program=jax), replace(other, program=jax)])
        assert len(told) == shown, (pct, rule)


def test_idle_time_that_a_report_does_not_show_is_not_said() -> None:
    idle = Statement("**The GPU is idle 99.9 % of the time**.", 1e6, "", "idle", code="In `main`.")
    unknown = Finding(rulebook.load()["gpu_idle"], "cannot_judge", why="nsys failed to process 83.0 % of its events.")
    (told,) = top_findings.select_statements([idle], [unknown])
    assert told.text == "**nsys failed to process 83.0 % of its events.**"


def test_steps_are_told_by_their_finding() -> None:
    slowest = Statement("The slowest step takes 2 ms.", 1e6, "", "kernels", group="steps")
    idle = Statement("Idle.", 2e6, "", "idle")
    growth = Finding(rulebook.load()["step_growth"], "fires", value=30.0, saving_ns=5)
    assert top_findings.select_statements([idle, slowest], []) == [idle, slowest]
    assert top_findings.select_statements([idle, slowest], [growth]) == [idle]


def test_a_kernel_that_is_all_there_is_to_tune_is_worth_a_profile() -> None:
    kernel_ = Statement("**`a` takes all kernel time**: 1.00 s in 49 launches.", 1e9, "", "kernel")
    hot = Finding(rulebook.load()["hot_kernel"], "fires", value=100.0, facts={"kernel": "a"})
    (told,) = top_findings.select_statements([kernel_], [hot])
    assert told.text.startswith(f"{kernel_.text} Profile `a` with `ncu --set full")
    costs = Finding(rulebook.load()["launch_bound"], "fires", value=30.0, saving_ns=5)
    assert top_findings.select_statements([kernel_], [costs, hot]) == [kernel_], "something else comes first"


def test_code_that_a_finding_names_is_not_named_before_it() -> None:
    idle = Statement("The GPU is idle (1 ms).", 1e6, "", "idle", code="66 % of the samples are in `main`.")
    (told,) = top_findings.select_statements([idle], [])
    assert told.text == "The GPU is idle (1 ms). 66 % of the samples are in `main`."
    sampled = Finding(
        rulebook.load()["cpu_saturated"], "fires", value=60.0, saving_ns=5, facts={"functions": "main, abs"}
    )
    assert top_findings.select_statements([idle], [sampled])[0].text == "The GPU is idle (1 ms)."


def test_the_same_advice_is_said_once() -> None:
    rules = rulebook.load()
    chains, moves = (Finding(rules[name], "fires", value=30.0) for name in ("elementwise_chains", "data_movement"))
    first, second = sentences.fill_advice(moves)[:2]
    assert first == sentences.fill_advice(chains)[0]
    assert top_findings.format_item(moves).endswith(first)
    assert top_findings.format_item(moves, [chains]).endswith(second)
    every = (Finding(rule, "fires", value=30.0) for rule in rules.values())
    single = next(one for one in every if len(sentences.list_general_advice(one)) == 1)
    assert top_findings.format_item(single).endswith(sentences.fill_advice(single)[0])
    assert top_findings.format_item(single, [single]).endswith("The change advised above helps here, too.")


@pytest.mark.slow("the summary of another report")
def test_amounts_of_findings_are_no_statements(nsys_samples: Library) -> None:
    """The kernel's 64.0 ms stand in a finding; the 234 ms of copies do not."""
    (only,) = in_short(made(nsys_samples, "streams_serial.nsys-rep"))
    assert only.startswith("**Copies take 234 ms")


@pytest.mark.integration
def test_a_compute_report(every_report: Library) -> None:
    name = "transformer_training.ncu-rep"
    text = made(every_report, name)
    assert section(text, "What limits the launches")[1:] == [
        [
            one["verdict"],
            words.percent(one["share_pct"]),
            words.duration(one["duration_ns"]),
            words.count(one["launches"]),
        ]
        for one in rows(every_report, name, "ncu_verdicts")
    ]
    longest = max(rows(every_report, name, "ncu_speed_of_light"), key=lambda one: one["duration_ns"])  # type: ignore[arg-type, return-value]
    (point,) = rows(every_report, name, "ncu_roofline", launch=longest["launch_id"], precision="main", level="dram")
    shown = section(text, "Top launches")[1]
    assert (shown[3], shown[-1]) == (words.duration(longest["duration_ns"]), words.percent(point["pct_of_roof"]))


def test_the_command_line(nsys_samples: Library, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["summary", TRAINING, "--library", str(nsys_samples.folder), "-o"]
    assert cli.main([*command, str(tmp_path / "summary.md")]) == 0
    assert capsys.readouterr() == ("", "")
    assert (tmp_path / "summary.md").read_text(encoding="utf-8") == made(nsys_samples, TRAINING)
    assert cli.main([*command, str(tmp_path / "no" / "summary.md")]) == 1
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.slow("every analysis of a report as a file")
def test_every_analysis_is_exported_or_says_why_not(nsys_samples: Library, tmp_path: Path) -> None:
    (tmp_path / "ncu_rules.csv").write_text("of another report")
    (tmp_path / "kernels.csv").write_text("of another report")
    report = nsys_samples.find(TRAINING)
    index = export.write_all(nsys_samples, report, tmp_path, {"range": "forward"})
    with (tmp_path / "index.csv").open(encoding="utf-8", newline="") as file:
        assert [tuple(row) for row in csv.reader(file)] == [("analysis", "title", "rows", "why"), *index]
    assert [name for name, *_ in index] == list(header.list_analyses())
    written = {name: int(count) for name, _, count, why in index if not why}
    assert {path.name for path in tmp_path.iterdir()} == {f"{name}.csv" for name in written} | {"index.csv"}
    for name, count in written.items():
        with (tmp_path / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            assert len(list(csv.reader(file))) == count + 1, name
    for name in set(header.list_analyses()) - set(written):
        with pytest.raises((NotCapturedError, NotLinkedError)):
            analysis.run(nsys_samples, report.id, name)


def test_a_folder_that_cannot_be_written(nsys_samples: Library, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WarpdeckError, match="cannot be written"):
        export.write_all(nsys_samples, nsys_samples.find(TRAINING), tmp_path / "file", {})
    with pytest.raises(AnalysisError, match="No analysis has a parameter 'nothing'"):
        export.write_all(nsys_samples, nsys_samples.find(TRAINING), tmp_path / "new", {"nothing": "1"})


def test_a_long_name_is_shortened_in_the_sentence(library: Library, publish: Publish) -> None:
    """30 times a kernel of hipBLASLt, whose name has 700 characters, and two other kernels."""
    long = "Cijk_Ailk_Bljk_" + "MT128x128x32_" * 53

    def fill(db: duckdb.DuckDBPyConnection) -> None:
        insert(db, "report", [{"kind": "nsys", "start_ns": 0, "stop_ns": 90_000, "duration_ns": 90_000}])
        insert(db, "kernel_name", [kernel_name(1, long, "matmul", long), kernel_name(2, "a"), kernel_name(3, "b")])
        insert(db, "kernel", [kernel(n, 1 + n % 3, 1_000 * n, 1_000 * n + 900) for n in range(90)])
        insert(db, "busy", [{"device_id": 0, "start_ns": 1_000 * n, "end_ns": 1_000 * n + 900} for n in range(90)])

    said = nsys.write_steps(answers.Answers(library, library.find(publish(fill)), {}))
    assert "`Cijk_Ailk_Bljk_MT128x128x32_" in said
    assert len(said) < 400


def test_names_are_code_and_nothing_else() -> None:
    assert words.code("a`b|c\n# d") == "``a`b|c # d``"
    assert words.code("`a|", cell=True) == "`` `a\\| ``"
    assert words.code(None) == words.MISSING


def test_the_advice_of_ncu_is_cut_at_a_sentence() -> None:
    message = (
        "The grid is too small to fill the GPU. This can underutilize some SMs. Look at Hardware Model"
        " (https://docs.nvidia.com/nsight-compute/ProfilingGuide/index.html#metrics-hw-model) description. "
        + "More. "
        * 60
    )
    assert ncu._cut_advice(message).startswith(
        "The grid is too small to fill the GPU. This can underutilize some SMs. Look at Hardware Model description."
    )
    assert len(ncu._cut_advice(message)) <= 240
    assert len(ncu._cut_advice("word " * 100)) <= 240
