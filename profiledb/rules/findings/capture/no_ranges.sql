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
-- param: least = 10 fewest GPU operations to judge
-- column: operations | count | | operations in the selection
-- column: outside | count | | those of them that no range launched
-- column: ranges | count | | ranges in the report
-- says: {outside} of {operations} GPU {operations|operation|operations} {outside|was|were} launched outside of ranges, so the report cannot say which part of the program launched them.
-- clear: The program launched {value} of its GPU operations inside ranges.
-- advice: -> name_ranges
-- advice: [PyTorch, not HIP] Or name operators without touching the program: `torch.autograd.profiler.emit_nvtx()`, `nsys profile --pytorch=autograd-nvtx`.
-- advice: [not HIP] Capture with `nsys profile --trace=cuda,nvtx`.
-- source: NVTX documentation; 10 %: ours
WITH operation AS (
    SELECT process_range FROM selected_kernel UNION ALL SELECT process_range FROM selected_memop
    UNION ALL SELECT process_range FROM selected_graph_launch
)
SELECT CASE WHEN count(*) >= $least::BIGINT THEN 100.0 * count(process_range) / count(*) END AS value,
    'The selection has too few GPU operations to judge.' AS unjudged, count(*) AS operations,
    count(*) - count(process_range) AS outside,
    (SELECT count(*) FROM range) AS ranges
FROM operation;
