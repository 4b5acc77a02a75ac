"""CPU time of a rank by hand: its own time, its waits and its pauses in steps of 1 ms."""

from profiledb.library.library import Library
from tests.support.page_reports import picked, run
from tests.support.range_captures import Capture

US = 1_000
STEPS = [(1_000 * US * n, 1_000 * US * n + 990 * US, f"step_{n}") for n in range(4)]
NAMES = ((101, "cudaStreamSynchronize_v3020"), (102, "cudaLaunchKernel_v7000"), (103, "cudaMalloc_v3020"))
THREAD = "(SELECT min(global_tid) FROM api_call)"


def add(*calls: tuple[int, int, int]) -> str:
    """Return SQL that adds calls: number of the name, start and end in µs."""
    strings = ", ".join(f"({number}, '{name}')" for number, name in NAMES)
    rows = ", ".join(
        f"({1_000 + n}, {start * US}, {end * US}, {THREAD}, {name})" for n, (name, start, end) in enumerate(calls)
    )
    columns = "call_id, start_ns, end_ns, global_tid, name_id"
    return (
        f"INSERT INTO string (string_id, value) VALUES {strings}; INSERT INTO api_call ({columns}) SELECT * FROM"
        f" (VALUES {rows}) AS one"
    )


def launch(at: int, start: int, end: int) -> tuple[int, int, int, str]:
    """A kernel by the start of its launch and its own times, µs."""
    return at * US, start * US, end * US, "one"


def test_a_cpu_that_waits_for_its_gpu(library: Library, capture: Capture) -> None:
    """Each step launches at 10 µs, waits from 50 to 900 µs, and allocates for 60 µs, which is no wait."""
    work = [launch(1_000 * n + 10, 1_000 * n + 20, 1_000 * n + 900) for n in range(4)]
    calls = [(101, 1_000 * n + 50, 1_000 * n + 900) for n in range(4)]
    made = capture(STEPS, work, after=add(*calls, *((103, 1_000 * n + 910, 1_000 * n + 970) for n in range(4))))
    rows = run(library, made, "rank_cpu")
    assert picked(rows, "step", "period_ns", "cpu_ns", "blocked_ns") == [
        (n, 1_000 * US, 150 * US, 850 * US) for n in (1, 2, 3)
    ]
    assert [row["pause_ns"] for row in rows] == [40 * US - 10, *[40 * US] * 2]  # from the end of the allocation on


def test_a_cpu_that_runs_ahead(library: Library, capture: Capture) -> None:
    """The CPU launches a step in 400 µs, and the GPU takes 1,500 µs for it."""
    ranges = [(400 * US * n, 400 * US * n + 390 * US, f"step_{n}") for n in range(4)]
    work = [launch(400 * n + 5, 20 + 1_500 * n, 1_520 + 1_500 * n) for n in range(4)]
    rows = run(library, capture(ranges, work), "rank_cpu")
    assert picked(rows, "cpu_ns", "blocked_ns") == [(400 * US, 0)] * 3
    assert [row["period_ns"] for row in rows] == [1_520 * US, 1_500 * US, 1_500 * US]


def test_a_launch_into_a_full_queue_waits(library: Library, capture: Capture) -> None:
    """Of two launches beside the kernel's, only the one of more than 50 µs waits; overlapping waits count once."""
    work = [launch(1_000 * n + 10, 1_000 * n + 20, 1_000 * n + 900) for n in range(4)]
    calls = [(102, 100, 150), (102, 200, 500), (101, 400, 600), (102, 1_100, 1_400)]
    rows = run(library, capture(STEPS, work, after=add(*calls)), "rank_cpu")
    assert [row["blocked_ns"] for row in rows] == [400 * US, 300 * US, 0]


def test_a_step_before_a_gap_has_no_row(library: Library, capture: Capture) -> None:
    """The third step launches nothing."""
    work = [launch(1_000 * n + 10, 1_000 * n + 20, 1_000 * n + 900) for n in (0, 1, 3)]
    assert [row["step"] for row in run(library, capture(STEPS, work), "rank_cpu")] == [1]
