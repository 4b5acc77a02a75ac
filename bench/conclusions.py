"""Check conclusions: run pairs of a program with and without a fault, and compare the first findings of each.

``python -m bench.conclusions FOLDER`` reads the captures of ``workloads.faults`` or ``workloads.rank_faults`` in a
folder: NAME.bad.sqlite and NAME.good.sqlite (exports of nsys), each with the program's last line in NAME.bad.json and
NAME.good.json. It prints a row per pair: the place of the first finding that names the fault, its promised saving and
the measured one (bad less good, as a share of bad), and the fault's rules that fire above "low" in the mended half;
with ``--nsys-ai PATH`` also the place of the first finding of nsys-ai that has a word for the fault.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from bench import nsys_ai
from bench.ingestion import run_ingest
from profiledb.findings import judge, rulebook
from profiledb.findings.finding import Finding
from profiledb.library.library import Library
from profiledb.studies.summary.document import page_params

NAMES: Mapping[str, frozenset[str]] = {
    "many_synchronizations": frozenset({"sync_bound"}),
    "odd_vocabulary": frozenset({"misaligned_products"}),
    "optimizer_per_parameter": frozenset({"optimizer_per_parameter"}),
    "optimizer_on_cpu": frozenset({"optimizer_on_cpu"}),
    "same_data_each_step": frozenset({"no_overlap", "copies_exceed_compute"}),
    "double_precision": frozenset({"double_precision"}),
    "checkpointing_without_need": frozenset({"recomputation"}),
    "memory_that_grows": frozenset({"memory_growth", "allocation_in_loop"}),
    "allocation_in_each_step": frozenset({"allocation_in_loop"}),
    "loss_read_each_step": frozenset({"sync_bound"}),
    "checkpoint_in_the_loop": frozenset({"host_work", "recurring_gaps"}),
    "unfused_elementwise": frozenset({"elementwise_chains"}),
    "decoding_without_graph": frozenset({"launch_bound"}),
    "collection_of_garbage": frozenset({"garbage_collection", "recurring_gaps"}),
    "pageable_batches": frozenset({"pageable_copies"}),
    "input_made_between_steps": frozenset({"data_loading"}),
    "shapes_that_recompile": frozenset({"compilation_in_steps"}),
    "single_precision": frozenset({"tensor_cores_unused"}),
    "attention_by_hand": frozenset({"unfused_attention"}),
    "gradients_zeroed": frozenset({"gradients_zeroed"}),
    "partial_waves": frozenset({"partial_waves"}),
    "low_occupancy": frozenset({"low_occupancy"}),
    "few_cores": frozenset({"few_cores"}),
    "decoding_one_by_one": frozenset({"decoding_one_by_one"}),
    "small_buckets": frozenset({"small_buckets"}),
    "unused_parameters_searched": frozenset({"unused_parameters"}),
    "uneven_batches": frozenset({"rank_imbalance"}),
    "one_microbatch": frozenset({"pipeline_bubbles"}),
    "late_rank": frozenset({"rank_imbalance"}),
    "reduced_at_the_end": frozenset({"communication_overlap", "exposed_communication"}),
    "activations_through_host": frozenset({"pageable_copies", "slow_peer_copies"}),
}
"""Rules that name each fault. For ``host_work`` the range must identify the fault."""
LEAST_PCT = 10.0
"""Share of its time that a fault must cost: one that costs less on this machine judges no rule."""


@dataclass(frozen=True)
class Row:
    """Result of a pair: the place of the fault among the findings, from 1, and its rule; savings in percent."""

    fault: str
    place: int | None
    rule: str
    said_pct: float | None
    true_pct: float
    left: tuple[str, ...]
    theirs: str = ""

    @property
    def counts(self) -> bool:
        """Return True if the fault costs enough to be found."""
        return self.true_pct >= LEAST_PCT

    @property
    def close(self) -> bool:
        """Return True if the saving is within a quarter of the measured one."""
        return self.said_pct is not None and abs(self.said_pct - self.true_pct) <= 0.25 * self.true_pct

    def __str__(self) -> str:
        promised = "" if self.said_pct is None else f"{self.said_pct:.0f} %"
        place = "not named" if self.place is None else str(self.place)
        left = ", ".join(self.left) or "none"
        return f"| {self.fault} | {place} | {self.rule} | {promised} | {self.true_pct:.0f} % | {left} | {self.theirs} |"


def list_findings(library: Library, name: str) -> list[Finding]:
    """Return the findings of a capture that cost time and have no parent, in the order of pages."""
    report = library.find(name)
    params = page_params(library, report, {})
    part = judge.steady_part(library, report, params)
    return judge.costly(judge.judge(library, report, params, rulebook.load(None).values(), part))


def judge_pair(fault: str, bad: Iterable[Finding], good: Iterable[Finding], took_ns: tuple[int, int]) -> Row:
    """Return the verdict on both halves; ``took_ns`` is the duration of the steps of each."""
    names, true_pct = NAMES[fault], 100 * (1 - took_ns[1] / took_ns[0])
    hits = [(place, one) for place, one in enumerate(bad, 1) if one.rule.name in names]
    left = tuple(one.rule.name for one in good if one.rule.name in names and one.severity in ("high", "medium"))
    if not hits:
        return Row(fault, None, "", None, true_pct, left)
    place, one = hits[0]
    return Row(fault, place, one.rule.name, one.saving_pct, true_pct, left)


def judge_pairs(folder: Path, data: Path, rival: str = "") -> list[Row]:
    """Return a row for each pair in a folder; the captures are imported into a library in ``data``.

    Args:
        rival: path of ``nsys-ai``, which judges each capture with a fault; empty for none.
    """
    run_ingest(tuple(sorted(folder.glob("*.sqlite"))), data / "inbox", data / "library")
    library = Library(data / "library")
    results = []
    for fault in NAMES:
        if not (folder / f"{fault}.bad.sqlite").exists():
            continue
        took = [int(json.loads((folder / f"{fault}.{half}.json").read_text())["ns"]) for half in ("bad", "good")]
        bad, good = (list_findings(library, f"{fault}.{half}.sqlite") for half in ("bad", "good"))
        results.append(judge_pair(fault, bad, good, (took[0], took[1])))
        if rival:
            place = nsys_ai.find_place(rival, folder / f"{fault}.bad.sqlite", fault)
            results[-1] = replace(results[-1], theirs=str(place or "not named"))
    return results


def main() -> None:
    """Print the table and its totals."""
    parser = argparse.ArgumentParser(prog="python -m bench.conclusions", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--nsys-ai", default="", metavar="PATH", help="the command nsys-ai, for a column beside ours")
    options = parser.parse_args()
    with TemporaryDirectory(prefix="warpdeck-conclusions-") as data:
        results = judge_pairs(options.folder, Path(data), options.nsys_ai)
    print("| fault | place | rule | saving said | saving measured | in the mended half | place with nsys-ai |")
    print("|---|---:|---|---:|---:|---|---:|")
    print("\n".join(map(str, results)))
    fair = [one for one in results if one.counts]
    first, three = (sum(one.place is not None and one.place <= most for one in fair) for most in (1, 3))
    close = sum(one.close for one in fair)
    print(
        f"{len(fair)} faults that cost {LEAST_PCT:.0f} % or more: {first} named first, {three} among the first three,"
    )
    print(f"{close} with a saving within 25 % of the measured one.")


if __name__ == "__main__":
    main()
