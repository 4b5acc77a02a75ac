"""Names of each fault of the programs with faults: our rules, and words of nsys-ai."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Fault:
    """The rules that name a fault, and a generous pattern of words in findings of nsys-ai.

    ``patterns`` has rules that name it only if their sentence or advice matches a pattern.
    """

    rules: frozenset[str]
    words: str
    patterns: Mapping[str, str] = field(default_factory=dict)


FAULTS: Mapping[str, Fault] = {
    "many_synchronizations": Fault(frozenset({"sync_bound"}), r"synchroni[sz]|sync[- ](bound|stall|cost)"),
    "odd_vocabulary": Fault(frozenset({"misaligned_products"}), r"misalign|unaligned|alignment|tensor[- ]core"),
    "optimizer_per_parameter": Fault(
        frozenset({"optimizer_per_parameter", "graph_breaks"}), r"optimizer|foreach|fused adam"
    ),
    "optimizer_on_cpu": Fault(frozenset({"optimizer_on_cpu"}), r"optimizer|D2H|device-to-host"),
    "same_data_each_step": Fault(
        frozenset({"copies_exceed_compute", "no_overlap", "round_trips", "weights_from_host"}),
        r"H2D|host-to-device|transfer",
    ),
    "double_precision": Fault(frozenset({"double_precision"}), r"fp64|double", {"hot_kernel": r"^Look for FP64"}),
    "checkpointing_without_need": Fault(frozenset({"recomputation"}), r"recomput|checkpoint"),
    "memory_that_grows": Fault(frozenset({"allocation_in_loop", "memory_growth"}), r"memory (growth|leak)|grows"),
    "allocation_in_each_step": Fault(frozenset({"allocation_in_loop"}), r"cudaMalloc|cudaFree|allocat"),
    "loss_read_each_step": Fault(frozenset({"sync_bound", "os_blocking"}), r"synchroni[sz]|\.item|D2H"),
    "checkpoint_in_the_loop": Fault(
        frozenset({"host_work", "output_in_loop", "recurring_gaps"}), r"save|torch\.save|checkpoint"
    ),
    "python_between_launches": Fault(frozenset({"host_work", "recurring_gaps"}), r"host|python|idle gap|cpu[- ]bound"),
    "unfused_elementwise": Fault(frozenset({"elementwise_chains"}), r"fus(e|ion)|elementwise"),
    "decoding_without_graph": Fault(frozenset({"launch_bound"}), r"launch[- ](bound|overhead)|small kernel|cuda graph"),
    "collection_of_garbage": Fault(
        frozenset({"garbage_collection", "recurring_gaps"}),
        r"garbage|\bgc\b",
        {"host_work": r"works in .*(garbage|gc|memory)"},
    ),
    "pageable_batches": Fault(frozenset({"pageable_copies"}), r"pageable|pin"),
    "input_made_between_steps": Fault(frozenset({"data_loading"}), r"data ?loader|data loading|augment"),
    "shapes_that_recompile": Fault(frozenset({"compilation_in_steps"}), r"compil|module load|cuLibraryLoad"),
    "single_precision": Fault(frozenset({"tensor_cores_unused"}), r"tensor[- ]core|tf32|fp32"),
    "attention_by_hand": Fault(frozenset({"unfused_attention"}), r"attention|fus(e|ion)|softmax"),
    "gradients_zeroed": Fault(frozenset({"gradients_zeroed"}), r"zero_grad|memset|fill"),
    "partial_waves": Fault(frozenset({"partial_waves"}), r"wave|tail|grid"),
    "low_occupancy": Fault(frozenset({"low_occupancy"}), r"occupancy"),
    "few_cores": Fault(frozenset({"few_cores"}), r"few cores|affinity|oversubscri|cpu contention"),
    "decoding_one_by_one": Fault(
        frozenset({"decoding_one_by_one"}), r"batch|gemv", {"launch_bound": r"Decode more sequences at once"}
    ),
    "layout_conversions": Fault(frozenset({"layout_conversions", "data_movement"}), r"layout|channels.last|nchw"),
    "loop_over_samples": Fault(
        frozenset({"host_work", "launch_bound"}), r"launch[- ](bound|overhead)|small kernel|loop"
    ),
    "dense_embedding_gradients": Fault(frozenset({"dense_embedding_gradients"}), r"sparse|dense grad|embedding"),
    "padding_to_the_limit": Fault(frozenset(), r"padding|pad"),
    "contended_atomics": Fault(frozenset({"data_movement"}), r"atomic|scatter|index_?(add|func)|contention"),
    "cache_grown_by_concatenation": Fault(
        frozenset({"data_movement"}), r"\bcat\b|concat|CatArray|(kv|key[- /]value) cache|static cache"
    ),
    "graph_captured_each_step": Fault(
        frozenset({"graphs_in_loop"}), r"graph.{0,20}(captur|instantiat)|(re-?)captur|cudaGraphInstantiate"
    ),
    "small_microbatches": Fault(frozenset({"launch_bound"}), r"batch|launch[- ](bound|overhead)"),
    "cache_disabled": Fault(frozenset({"tokens_recomputed", "recomputation"}), r"cache|recomput"),
    "results_to_host_each_step": Fault(
        frozenset({"copies_exceed_compute", "pageable_copies", "synchronous_copies", "sync_bound", "results_to_host"}),
        r"D2H|pageable",
    ),
    "small_grid": Fault(frozenset({"small_grids"}), r"grid|occupancy|parallelism"),
    "small_buckets": Fault(frozenset({"small_buckets"}), r"bucket|small (nccl|collective)"),
    "unused_parameters_searched": Fault(frozenset({"unused_parameters"}), r"unused"),
    "uneven_batches": Fault(frozenset({"rank_imbalance"}), r"straggl|imbalance|uneven"),
    "one_microbatch": Fault(frozenset({"pipeline_bubbles"}), r"pipeline|bubble"),
    "late_rank": Fault(frozenset({"rank_imbalance"}), r"straggl|imbalance|late"),
    "communication_on_compute_stream": Fault(frozenset({"communication_on_compute_stream"}), r"overlap|stream"),
    "reduced_at_the_end": Fault(
        frozenset({"communication_on_compute_stream", "communication_overlap", "exposed_communication"}), r"overlap"
    ),
    "activations_through_host": Fault(
        frozenset({"messages_through_host", "pageable_copies", "pickled_tensors", "slow_peer_copies"}),
        r"pageable|D2H|device-to-host",
    ),
    "low_precision_unused": Fault(frozenset({"low_precision_unused"}), r"bf16|fp16|half|mixed|precision"),
    "tokens_recomputed": Fault(frozenset({"tokens_recomputed", "prompts"}), r"(kv|prefix)[- ]?cache|recomput|prefill"),
    "host_work": Fault(frozenset({"host_work"}), r"host|cpu|python|gil"),
    "copies_exceed_compute": Fault(
        frozenset({"copies_exceed_compute"}), r"H2D|host-to-device|transfer|bandwidth", {"no_overlap": r"Or copy less"}
    ),
    "sync_per_layer": Fault(frozenset({"sync_per_layer", "sync_bound"}), r"synchroni[sz]|sync[- ](bound|stall|cost)"),
    "round_trips": Fault(
        frozenset({"round_trips"}), r"round[- ]trip|D2H|H2D|transfer", {"pageable_copies": r"as many bytes go back"}
    ),
    "no_overlap": Fault(frozenset({"no_overlap"}), r"overlap|stream|serializ"),
    "unified_memory_faults": Fault(frozenset({"unified_memory_faults"}), r"unified|managed|page[- ]fault|migrat"),
    "page_migrations": Fault(
        frozenset({"page_migrations", "unified_memory_faults"}), r"unified|managed|page[- ]fault|migrat"
    ),
    "blocking_launches": Fault(frozenset({"blocking_launches"}), r"blocking|LAUNCH_BLOCKING"),
    "data_parallel": Fault(frozenset({"data_parallel"}), r"data ?parallel"),
    "graph_breaks": Fault(
        frozenset({"graph_breaks", "elementwise_chains"}),
        r"graph break|compile",
        {"launch_bound": r"Compiled code is split"},
    ),
    "step_growth": Fault(frozenset({"step_growth"}), r"grow|slow(er|s) over|trend|drift"),
    "step_outliers": Fault(
        frozenset({"step_outliers", "os_blocking"}), r"outlier|spike|slow iteration|variance|jitter"
    ),
    "os_blocking": Fault(
        frozenset({"os_blocking", "host_work"}), r"sleep|block|poll|idle", {"data_loading": r"the CPU is in \w+ in "}
    ),
    "hot_kernel": Fault(frozenset({"hot_kernel"}), r"hot|dominat|top kernel"),
    "garbage_collection": Fault(frozenset({"garbage_collection"}), r"garbage|\bgc\b"),
    "unfused_attention": Fault(frozenset({"unfused_attention"}), r"attention|softmax|flash"),
    "many_small_copies": Fault(
        frozenset({"small_copies"}), r"(small|many|frequent).{0,30}(cop|transfer|memcpy)|batch.{0,20}transfer"
    ),
    "reduced_in_each_microbatch": Fault(
        frozenset({"exposed_communication", "communication_overlap"}), r"no_sync|accumulat"
    ),
}
"""Faults by name. For ``host_work`` the range, or the OS call, must identify the fault, for graph breaks the advice,
and for reads in ``os_blocking`` the sentence. No rule names a fault without rules yet."""
