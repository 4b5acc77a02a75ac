-- title: Ranges in numbers
-- One row: number of ranges, and total times of the outermost ones. Ranges of several threads may overlap, so sums can
-- exceed the capture.
-- page: ranges
-- prefetch: part
-- needs: range
-- includes: selection, ranges
-- selects: part, mode
-- column: ranges | count | | number of instances
-- column: paths | count | | number of distinct name stacks
-- column: threads | count | | threads that opened them
-- column: unclosed | count | | unclosed ranges, which end with the data
-- column: cpu_ns | ns | | sum of durations of the outermost ranges on the CPU
-- column: gpu_ns | ns | | from their first operation on the GPU to the end of the last, summed; empty if none ran any
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
