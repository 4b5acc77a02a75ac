-- title: No ranges
-- question: Does the program mark its parts with ranges?
-- The share of the selection's operations that were launched inside a range. Without ranges no rule can tell which part
-- of the program loses time, and steps must be guessed.
-- needs: kernel or memop or graph_launch
-- includes: finding
-- selects: part
-- unit: %
-- fires: below
-- weight: note
-- param: threshold = 10 fires at or below this share of the operations
-- column: operations | count | | operations in the selection
-- column: ranges | count | | ranges in the report
-- says: {value} of {operations} GPU {operations|operation was|operations were} launched in a range: which part of the program launched the others is unknown.
-- clear: {value} of the GPU operations were launched in a range.
-- advice: -> name_ranges
-- advice: [PyTorch, not HIP] Or name operators without touching the program: `torch.autograd.profiler.emit_nvtx()`, `nsys profile --pytorch=autograd-nvtx`.
-- advice: [not HIP] Capture with `nsys profile --trace=cuda,nvtx`.
-- source: NVTX documentation; 10 %: ours
WITH operation AS (
    SELECT process_range FROM selected_kernel UNION ALL SELECT process_range FROM selected_memop
    UNION ALL SELECT process_range FROM selected_graph_launch
)
SELECT 100.0 * count(process_range) / nullif(count(*), 0) AS value, count(*) AS operations,
    (SELECT count(*) FROM range) AS ranges
FROM operation;
