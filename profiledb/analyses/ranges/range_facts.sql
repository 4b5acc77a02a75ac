-- title: Ranges in numbers
-- A single row: how many ranges there are, and what the outermost ones took together. Those of several threads may lie
-- beside each other, so that the sums can be longer than the capture.
-- page: ranges
-- prefetch: part
-- needs: range
-- includes: selection, ranges
-- selects: part, mode
-- column: ranges | count | | instances
-- column: paths | count | | stacks of names
-- column: threads | count | | threads that opened them
-- column: unclosed | count | | ranges that were never closed: their end is that of the data
-- column: cpu_ns | ns | | durations of the outermost ranges on the CPU
-- column: gpu_ns | ns | | from their first operation on the GPU to the end of the last, summed; empty where none ran any
-- column: busy_ns | ns | | times in which their operations ran, summed
-- column: operations | count | | their kernels, memcpy, memset and whole CUDA graphs; empty if the report has none in ranges
WITH outermost AS (
    SELECT range.*, up.range_id IS NULL AS is_root
    FROM selected_timed_range(selected_mode()) AS range
    LEFT JOIN (SELECT range_id FROM selected_range) AS up ON up.range_id = range.parent_id
)
SELECT count(*) AS ranges, count(DISTINCT path_id) AS paths, count(DISTINCT global_tid) AS threads,
    count(*) FILTER (NOT closed) AS unclosed, sum(cpu_ns) FILTER (is_root)::BIGINT AS cpu_ns,
    sum(gpu_ns) FILTER (is_root)::BIGINT AS gpu_ns, sum(busy_ns) FILTER (is_root)::BIGINT AS busy_ns,
    sum(operations) FILTER (is_root)::BIGINT AS operations
FROM outermost;
