"""Check predictions: the predicted saving of pairs of a program with and without a fault, beside the measured one.

``python -m bench.whatif FOLDER...`` takes the captures that ``bench.conclusions`` takes, of ``workloads.faults`` or of
programs called PROGRAM.FAULT. It prints a row a pair with a change that mends its fault: the saving that ``warpdeck
whatif`` predicts with its interval, the measured one (bad less good, as a share of bad) under the profiler and, from
NAME.unprofiled.json in the folder ``unprofiled``, without it. ``--samples`` adds the pairs among the samples, whose
measured saving is that of their steps. It ends with how many predictions are within a fifth of the measured saving, and
how many intervals hold it.

``--unchanged LIBRARY...`` replays the reports of libraries without a change instead, and prints how many have the
recorded times and are explained, and why the others are refused.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.ingestion import run_ingest
from profiledb.errors import NotCapturedError, WarpdeckError
from profiledb.library.catalog import TIMELINE
from profiledb.library.library import Library
from profiledb.replay import prediction
from profiledb.studies.scaling.family import find_ranks

CHANGES: Mapping[str, str] = {
    "many_synchronizations": "without_waits",
    "loss_read_each_step": "without_waits",
    "pageable_batches": "pinned_copies",
    "same_data_each_step": "data_on_gpu",
    "allocation_in_each_step": "without_allocations",
    "memory_that_grows": "without_allocations",
    "gradients_zeroed": "host_code=zero_grad",
    "decoding_without_graph": "cuda_graph",
    "unfused_elementwise": "fused_elementwise",
    "input_made_between_steps": "host_code=augment",
    "checkpoint_in_the_loop": "host_code=save",
    "optimizer_on_cpu": "host_code=optimizer",
    "optimizer_per_parameter": "host_code=optimizer",
    "few_cores": "host_code=prepare",
    "late_rank": "host_code=augment",
    "reduced_at_the_end": "overlapped_collectives",
    "small_buckets": "merged_collectives=256",
    "uneven_batches": "balanced_ranks",
    "click_features.few_cores": "host_code=features",
    "conjugate_gradient.loss_read_each_step": "without_waits",
    "dumped_features.checkpoint_in_the_loop": "without_range=dump",
    "evaluation.memory_that_grows": "without_allocations",
    "experts.optimizer_per_parameter": "fused_optimizer=rmsprop",
    "gan.gradients_zeroed": "without_range=clear",
    "heat.same_data_each_step": "data_on_gpu",
    "jax_training.same_data_each_step": "data_on_gpu",
    "llama.unfused_elementwise": "compiled",
    "offloaded.optimizer_on_cpu": "without_range=weights",
    "resnet.loss_read_each_step": "without_waits",
    "segmenter.single_precision": "precision=tf32",
    "spectral.allocation_in_each_step": "without_allocations",
    "spectrograms.pageable_batches": "pinned_copies",
    "speech_decoder.decoding_without_graph": "cuda_graph",
    "timed_modules.many_synchronizations": "without_waits",
    "vit.input_made_between_steps": "host_code=load",
    "chat.decoding_one_by_one": "batch=12",
    "metrics_of_first_rank.late_rank": "host_code=metrics",
    "long_texts.uneven_batches": "balanced_ranks",
    "thin_layers.small_buckets": "merged_collectives=16",
    "own_all_reduce.reduced_at_the_end": "overlapped_collectives",
    "columns_and_rows.late_rank": "host_code=report",
    "detector.loss_read_each_step": "without_waits",
    "embedding_service.allocation_in_each_step": "without_allocations",
    "gated_autoencoder.unfused_elementwise": "compiled",
    "graph_network.many_synchronizations": "without_waits",
    "mixer.single_precision": "precision=tf32",
    "sampler.same_data_each_step": "data_on_gpu",
    "sharded_texts.uneven_batches": "balanced_ranks",
    "translator.decoding_without_graph": "cuda_graph",
    "wide_and_deep.pageable_batches": "pinned_copies",
    "kmeans.double_precision": "without_fp64=fp32",
    "pose_solver.double_precision": "without_fp64=tf32",
    "surrogate.double_precision": "without_fp64=tf32",
    "particles.decoding_without_graph": "cuda_graph",
    "edit_distance.python_between_launches": "host_code=word_error_rate",
    "moving_average.optimizer_per_parameter": "fused_optimizer=average",
    "clip_by_hand.many_synchronizations": "without_waits",
    "adapters.checkpointing_without_need": "without_recomputation",
    "diffusion.checkpointing_without_need": "without_recomputation",
    "guarded_layers.many_synchronizations": "without_waits",
    "retrieval.same_data_each_step": "data_on_gpu",
    "tracker.double_precision": "without_fp64=tf32",
    "listener.checkpointing_without_need": "without_recomputation",
    "tidy.allocation_in_each_step": "without_allocations",
    "tokenizer.python_between_launches": "host_code=encode",
    "hand_written_gelu.unfused_elementwise": "fused_elementwise",
    "tiny_network.decoding_without_graph": "cuda_graph",
    "upscaler.pageable_batches": "pinned_copies",
    "assistant.decoding_one_by_one": "batch=8",
}
"""Changes that mend a fault, for the faults and programs that have one."""
SAMPLES = {
    ("dataloader_starved", "dataloader_fixed"): "host_code=next_batch",
    ("idle_host_bound", "idle_fixed"): "without_waits",
    ("launches_tiny", "launches_graph"): "cuda_graph",
    ("streams_serial", "streams_overlapped"): "overlapped_copies",
}
"""Changes between pairs of samples."""
CLOSE = 0.2


@dataclass(frozen=True)
class Row:
    """Savings of a pair in percent; ``refused`` tells why nothing was predicted."""

    fault: str
    change: str
    predicted: float | None
    low: float | None
    high: float | None
    measured: float
    unprofiled: float | None
    error: float | None
    refused: str = ""

    @property
    def truths(self) -> list[float]:
        """The measured savings: with the profiler, and without it."""
        return [one for one in (self.measured, self.unprofiled) if one is not None]

    @property
    def close(self) -> bool:
        """Return True if the prediction is within a fifth of a measured saving."""
        return self.predicted is not None and any(abs(self.predicted - one) <= CLOSE * abs(one) for one in self.truths)

    @property
    def inside(self) -> bool:
        """Return True if the interval holds a measured saving."""
        if self.low is None or self.high is None:
            return False
        return any(self.low <= one <= self.high for one in self.truths)

    def __str__(self) -> str:
        if self.predicted is None:
            cells = [
                self.fault,
                self.change,
                self.refused,
                "",
                _format_percent(self.measured),
                _format_percent(self.unprofiled),
                "",
            ]
        else:
            between = f"{_format_percent(self.low)} to {_format_percent(self.high)}"
            cells = [
                self.fault, self.change, _format_percent(self.predicted), between, _format_percent(self.measured),
                _format_percent(self.unprofiled), f"{self.error:.1f} %",
            ]  # fmt: skip
        return f"| {' | '.join(cells)} |"


def _format_percent(value: float | None) -> str:
    return "" if value is None else f"{value:.0f} %"


def predict_pair(library: Library, folder: Path, fault: str) -> Row:
    """Return the prediction for a pair beside the measurements."""
    took = [_read_ns(folder / f"{fault}.{half}.json") for half in ("bad", "good")]
    alone = [_read_ns(folder / "unprofiled" / f"{fault}.{half}.unprofiled.json") for half in ("bad", "good")]
    measured = _compute_saving(took)
    assert measured is not None, f"{fault} has no times"
    return _predict_change(library, f"{fault}.bad.sqlite", CHANGES[fault], measured, _compute_saving(alone))


def predict_sample(library: Library, bad: str, good: str) -> Row:
    """Return the prediction for a sample, with the steps of its mended half as the measurement."""
    lengths = []
    for name in (bad, good):
        answer = prediction.predict(library, library.find(f"{name}.sqlite").id, prediction.parse(["cuda_graph"]))
        lengths.append(answer.baseline_ns // max(1, answer.steps))
    measured = _compute_saving([*lengths])
    assert measured is not None
    return _predict_change(library, f"{bad}.sqlite", SAMPLES[bad, good], measured, None)


def _predict_change(library: Library, name: str, change: str, measured: float, unprofiled: float | None) -> Row:
    fault, report = name.removesuffix(".sqlite").removesuffix(".bad"), library.find(name)
    try:
        answer = prediction.predict(library, report.id, prediction.parse([change]), find_ranks(library, report))
    except WarpdeckError as error:
        return Row(fault, change, None, None, None, measured, unprofiled, None, error.message)
    if answer.together is None:
        reason = answer.refused[0].reason if answer.refused else "it changes nothing"
        return Row(fault, change, None, None, None, measured, unprofiled, None, reason)
    one, length = answer.together, answer.baseline_ns
    saved, low, high = (100 * (1 - ns / length) for ns in (one.predicted_ns, one.high_ns, one.low_ns))
    return Row(fault, change, saved, low, high, measured, unprofiled, answer.error_pct)


def replay_unchanged(library: Library) -> Counter[str]:
    """Return how many reports of a library replay as recorded, and how many are refused for each reason."""
    outcomes = Counter[str]()
    for report in library.list():
        if TIMELINE in report.subjects:
            try:
                case = prediction.open_case(library, report.id)
            except NotCapturedError as error:
                outcomes[re.sub(r"[0-9]+ %", "some", error.message)] += 1
            else:
                outcomes["replayed, with at most 1 % unexplained" if case.error_pct <= 1 else "replayed"] += 1
    return outcomes


def _read_ns(path: Path) -> int | None:
    return int(json.loads(path.read_text())["ns"]) if path.exists() else None


def _compute_saving(took: list[int | None]) -> float | None:
    bad, good = took
    return None if bad is None or good is None else 100 * (1 - good / bad)


@contextmanager
def import_files(files: Sequence[Path]) -> Iterator[Library]:
    """Import files into a library for the time of the context."""
    with TemporaryDirectory(prefix="warpdeck-whatif-") as data:
        run_ingest(tuple(files), Path(data) / "inbox", Path(data) / "library")
        yield Library(Path(data) / "library")


def main() -> None:
    """Print the table and its totals."""
    parser = argparse.ArgumentParser(prog="python -m bench.whatif", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="*")
    parser.add_argument("--samples", action="store_true", help="the pairs in sample_reports, too")
    parser.add_argument(
        "--library", type=Path, help="a library that has the captures of the folder, not to import them"
    )
    parser.add_argument("--unchanged", type=Path, nargs="+", metavar="LIBRARY", help="replay its reports unchanged")
    given = parser.parse_args()
    for folder in given.unchanged or ():
        print(
            folder.name,
            *(f"{count:5} {outcome}" for outcome, count in replay_unchanged(Library(folder)).most_common()),
            sep="\n",
        )
    if given.unchanged:
        return
    rows = []
    for folder in given.folder:
        names = [name for name in CHANGES if (folder / f"{name}.bad.sqlite").exists()]
        captures = [folder / f"{name}.bad.sqlite" for name in names]
        with nullcontext(Library(given.library)) if given.library else import_files(captures) as library:
            rows += [predict_pair(library, folder, name) for name in names]
    if given.samples:
        with import_files([Path("sample_reports", f"{name}.sqlite") for pair in SAMPLES for name in pair]) as library:
            rows += [predict_sample(library, *pair) for pair in SAMPLES]
    print("| Fault | Change | Predicted | Between | Measured | Without the profiler | Unexplained |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    print(*rows, sep="\n")
    predicted = [one for one in rows if one.predicted is not None]
    close, inside = sum(one.close for one in predicted), sum(one.inside for one in predicted)
    print(
        f"\nOf {len(rows)} pairs {len(predicted)} predicted: {close} within a fifth of a measured saving,"
        f" {inside} with a"
    )
    print("measured saving inside the interval.")


if __name__ == "__main__":
    main()
