"""Phases: the rules and their file, a made-up program, and samples against SQL on their exports."""

import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from profiledb.errors import ConfigError
from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.report.schema import SCHEMA_VERSION
from profiledb.rules import phases
from tests.support import exports
from tests.support.exports import MAIN, OTHER, kernel
from tests.support.page_reports import picked, run

CALL = ("start", "end", "globalTid", "correlationId", "nameId", "eventClass", "returnValue")
MATMUL, ADD, ADAM = 1, 2, 3
CLASSES = {"one": "matmul", "two": "elementwise", "three": "optimizer"}
STEP = [(0, 900, "step_{}"), (10, 200, "forward"), (20, 150, "layer"), (210, 500, "backward"), (510, 700, "opt.step")]
WORK = [  # begin of the call, its thread, begin and end of the kernel, its name
    (30, MAIN, 100, 200, MATMUL), (160, MAIN, 200, 250, ADD),
    (220, OTHER, 300, 500, MATMUL), (260, OTHER, 500, 560, ADD), (305, OTHER, 560, 600, ADD),
    (520, MAIN, 600, 680, ADAM), (800, MAIN, 700, 710, ADD),
]  # fmt: skip
"""A step. The third call of the other thread lies in a range that a library opened there."""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report file of two steps of 1 µs, and an operation after them that is in no range."""
    folder = tmp_path_factory.mktemp("training")
    nvtx = [
        (at + start, at + end, 59, name.format(at // 1000), None, MAIN, 0)
        for at in (0, 1000)
        for start, end, name in STEP
    ] + [(at + 300, at + 320, 59, "sort", None, OTHER, 0) for at in (0, 1000)]
    work = [(at + c, tid, at + b, at + e, name) for at in (0, 1000) for c, tid, b, e, name in WORK]
    work.append((2100, MAIN, 2200, 2220, ADD))
    calls = [(call, call + 10, tid, n, 1, 0, 0) for n, (call, tid, *_) in enumerate(work, 1)]
    ran = [kernel(begin, end, name=name, correlation=n) for n, (_, _, begin, end, name) in enumerate(work, 1)]
    path = exports.write(
        folder / "training.sqlite",
        {
            **exports.kernels(*ran),
            "CUPTI_ACTIVITY_KIND_RUNTIME": (CALL, calls),
            "NVTX_EVENTS": (exports.NVTX, nvtx),
            "ANALYSIS_DETAILS": (("duration", "startTime", "stopTime"), [(3000, 0, 3000)]),
        },
    )
    with exports.loaded(folder / "training.duckdb", path) as db:
        for short, kind in CLASSES.items():
            db.execute("UPDATE kernel_name SET class = ? WHERE short = ?", [kind, short])
    return folder / "training.duckdb"


@pytest.fixture
def training(library: Library, loaded: Path, tmp_path: Path) -> str:
    """The report in a library of its own, which a test may change."""
    shutil.copy(loaded, tmp_path / "training.duckdb")
    manifest = Manifest("a" * 16, SCHEMA_VERSION, "training.sqlite", "nsys", "a", 1)
    library.publish(tmp_path / "training.duckdb", manifest)
    return manifest.id


@pytest.mark.parametrize(("start", "expected"), [(2200, (5080, 2, 540)), (950, (5080, None, None))])
def test_no_figures_per_step_where_most_kernels_are_launched_outside_steps(
    library: Library, training: str, start: int, expected: tuple[int, int | None, float | None]
) -> None:
    """By hand: two steps of 540 ns of work, from 0 to 1,900. A kernel of 4 µs counts against them only between them."""
    with duckdb.connect(str(library.path(training))) as db:
        db.execute("UPDATE kernel SET start_ns = ?, end_ns = ? WHERE start_ns = 2200", [start, start + 4000])
    (whole, *_) = run(library, training, "matmul_split", mode="process")
    assert (whole["total_ns"], whole["passes"], whole["pass_ns"]) == expected


def test_the_split_by_phase_and_class(library: Library, training: str) -> None:
    rows = run(library, training, "phase_split", mode="process")
    assert picked(rows, "phase", "class", "total_ns", "calls", "passes", "pass_ns", "pass_calls") == [
        ("forward", "matmul", 200, 2, 2, 100, 1),
        ("forward", "elementwise", 100, 2, 2, 50, 1),
        ("backward", "matmul", 400, 2, 2, 200, 1),
        ("backward", "elementwise", 200, 4, 2, 100, 2),
        ("optimizer", "optimizer", 160, 2, 2, 80, 1),
        ("none", "elementwise", 40, 3, 2, 10, 1),
    ]
    assert [row["share_pct"] for row in rows[:2]] == pytest.approx([100 * 200 / 1100, 100 * 100 / 1100])
    assert [row["phase_pct"] for row in rows[:2]] == pytest.approx([100 * 2 / 3, 100 / 3])


@pytest.mark.parametrize(("kind", "phase"), [("attention", "none"), ("elementwise", "optimizer")])
def test_a_step_that_is_named_after_the_optimizer_has_no_phase(
    library: Library, training: str, kind: str, phase: str
) -> None:
    """An optimizer updates parameters: a range of that name in which a model attends is the whole step."""
    with duckdb.connect(str(library.path(training))) as db:
        db.execute("UPDATE range_path SET name = 'optimizer_step_1' WHERE name LIKE 'step_%'")
        db.execute("UPDATE range_path SET name = 'part' WHERE name IN ('forward', 'backward', 'opt.step')")
        db.execute("UPDATE kernel_name SET class = ? WHERE class = 'matmul'", [kind])
    rows = run(library, training, "phase_split", mode="process")
    assert {row["phase"] for row in rows} == {phase, "none"}
    assert sum(row["total_ns"] for row in rows) == 1100


def test_by_thread_the_backward_pass_is_empty(library: Library, training: str) -> None:
    rows = run(library, training, "matmul_split", mode="thread")
    assert picked(rows, "phase", "total_ns", "matmul_ns") == [
        ("all", 1100, 600), ("forward", 300, 200), ("optimizer", 160, 0), ("none", 640, 400),
    ]  # fmt: skip


def test_matmul_against_the_rest(library: Library, training: str) -> None:
    rows = run(library, training, "matmul_split", mode="process")
    assert picked(rows, "phase", "total_ns", "matmul_ns", "rest_ns", "pass_ns", "pass_matmul_ns", "pass_rest_ns") == [
        ("all", 1100, 600, 500, 540, 300, 240),
        ("forward", 300, 200, 100, 150, 100, 50),
        ("backward", 600, 400, 200, 300, 200, 100),
        ("optimizer", 160, 0, 160, 80, 0, 80),
        ("none", 40, 0, 40, 10, 0, 10),
    ]
    assert rows[0]["matmul_pct"] == pytest.approx(100 * 6 / 11)
    (whole, forward) = run(library, training, "matmul_split", mode="process", range="step_1/forward")
    assert (whole["total_ns"], forward["phase"], forward["matmul_ns"]) == (150, "forward", 100)


def test_the_top_kernels(library: Library, training: str) -> None:
    columns = ("phase", "rank", "rest_rank", "total_ns", "calls", "pass_calls")
    rows = run(library, training, "top_kernels", mode="process", limit=1)
    assert picked(rows, *columns) == [
        ("all", 1, None, 600, 4, 2), ("all", 2, 1, 340, 9, 4),
        ("forward", 1, None, 200, 2, 1), ("forward", 2, 1, 100, 2, 1),
        ("backward", 1, None, 400, 2, 1), ("backward", 2, 1, 200, 4, 2),
        ("optimizer", 1, 1, 160, 2, 1), ("none", 1, 1, 40, 3, 1),
    ]  # fmt: skip
    together = run(library, training, "top_kernels", mode="process", phase="forward,backward")
    assert picked(together, *columns) == [
        ("forward,backward", 1, None, 600, 4, 2), ("forward,backward", 2, 1, 300, 6, 3),
    ]  # fmt: skip
    assert together[0]["share_pct"] == pytest.approx(100 * 2 / 3)


def test_a_capture_without_ranges_is_in_no_phase(library: Library, training: str) -> None:
    rows = run(library, training, "matmul_split", mode="process", from_ns=2000)
    assert picked(rows, "phase", "total_ns", "passes", "pass_ns") == [("all", 20, None, None), ("none", 20, None, None)]
    assert run(library, training, "matmul_split", from_ns=2900) == []
    assert run(library, training, "top_kernels", from_ns=2900) == []


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Writes a file of phases and makes it that of the settings."""

    def write(text: str) -> Path:
        path = tmp_path / "own.toml"
        path.write_text(text, encoding="utf-8")
        monkeypatch.setenv("WARPDECK_PHASES", str(path))
        return path

    return write


def test_a_file_of_ones_own(library: Library, training: str, own: Callable[[str], Path]) -> None:
    """It comes first, adds a phase, renames one, and excludes ranges from all."""
    own("""
        [[phase]]
        name = "sorting"
        patterns = ['^SORT$']
        [[phase]]
        name = "none"
        patterns = ['^layer']
        [[phase]]
        name = "forward"
        title = "There"
        """)
    assert [(p.name, p.title) for p in phases.read_current().phases] == [
        ("forward", "There"), ("backward", "Backward"), ("optimizer", "Optimizer"), ("sorting", "Sorting"),
        ("none", "No phase"),
    ]  # fmt: skip
    rows = run(library, training, "matmul_split", mode="process")
    assert picked(rows, "phase", "total_ns") == [
        ("all", 1100), ("forward", 100), ("backward", 520), ("optimizer", 160), ("sorting", 80), ("none", 240),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[phase]]\nname = 'mine'\npatterns = ['(unclosed']", ["'mine'", "'(unclosed'", "not an RE2 pattern"]),
        ("[[phase]]\nname = 'mine'\npatterns = ['.*']", ["'mine'", "every name"]),
        ("[[phase]]\nname = 'mine'\npatterns = [1]", ["'mine'", "not text"]),
        ("[[phase]]\nname = 'mine'\ncolor = 'red'", ["'mine'", "color"]),
        ("[[phase]]\nname = 'all'", ["'all'"]),
        ("[[phase]]\ntitle = 'Mine'", ["entry 1", "name"]),
        ("phase = 1", ["[[phase]]"]),
        ("[[phase]", ["cannot be read"]),
    ],
)
def test_a_wrong_file_is_named(own: Callable[[str], Path], text: str, words: list[str]) -> None:
    path = own(text)
    with pytest.raises(ConfigError) as error:
        phases.read_current()
    assert [word for word in (str(path), *words) if word not in error.value.message] == []


@pytest.mark.parametrize(
    ("name", "phase"),
    [
        ("forward", "forward"), ("Model.forward", "forward"), ("step 3 forward pass", "forward"), ("fwd_3", "forward"),
        ("DistributedDataParallel.forward", "forward"), ("feed_forward", None), ("FeedForward", None),
        ("aten::_flash_attention_forward", None), ("vllm::moe_forward", None), ("Model::forward", "forward"),
        ("te_fused_attn_forward_ffi.10", "none"),
        ("sglang_profiler::forward_batch_info", None), ("sglang_profiler::rmsnorm2d_fwd_109", None),
        ("net:forward", "forward"), ("layer fwd", "forward"), ("net:fwd", "forward"),
        ("aten::convolution_backward", "backward"), ("nn.Module: Net forward", "forward"), ("3: my_forward", "forward"),
        ("backward", "backward"), ("loss.backward", "backward"), ("AddmmBackward0", "backward"), ("bwd", "backward"),
        ("optimizer_step", "optimizer"), ("Optimizer.step#AdamW.step", "optimizer"), ("opt_step", "optimizer"),
        ("zero_grad", "optimizer"), ("step_0", None), ("option", None), ("read_loss", None), ("adopt", None),
    ],
)  # fmt: skip
def test_names_of_ranges(name: str, phase: str | None) -> None:
    with duckdb.connect() as db:
        phases.apply(db)
        assert db.execute("SELECT phase_of(?)", [name]).fetchone() == (phase,)
