-- title: Ranges at the top levels by name
-- One row per name of the outermost ranges of the selection and their direct children, with a star for the last number
-- of a name, which merges step_0 and step_1. Times are sums over the instances; a range includes nested ranges. In time
-- order.
-- page: compare
-- needs: range
-- includes: selection, ranges
-- selects: part, mode
-- param: depth = 2 number of levels, from the outermost ranges of the selection down
-- column: pattern | text | | names from the outermost range of the selection down, joined by slashes
-- column: level | count | | enclosing ranges of the selection
-- column: instances | count | | number of ranges of this pattern
-- column: cpu_ns | ns | | sum of their durations on the CPU
-- column: gpu_ns | ns | | sum of their times on the GPU, from the first operation to the end of the last, gaps included
-- column: busy_ns | ns | | sum of the times in which their operations ran
-- column: kernel_ns | ns | | sum of the durations of their kernels
-- column: operations | count | | kernels, memcpy, memset and whole CUDA graphs; empty if the report has none in ranges
WITH RECURSIVE total AS (
    SELECT path_id, count(*) AS instances, min(start_ns) AS first_ns, sum(cpu_ns) AS cpu_ns, sum(gpu_ns) AS gpu_ns,
        sum(busy_ns) AS busy_ns, sum(kernel_ns) AS kernel_ns, sum(operations) AS operations
    FROM selected_timed_range(selected_mode()) GROUP BY path_id
), family AS MATERIALIZED (
    SELECT total.*, parent_id, title AS pattern FROM total JOIN range_title USING (path_id)
), tree AS (
    SELECT path_id, pattern, 0 AS level FROM family
    WHERE NOT EXISTS (FROM family AS up WHERE up.path_id = family.parent_id)
    UNION ALL
    SELECT family.path_id, concat(tree.pattern, '/', family.pattern), level + 1
    FROM tree JOIN family ON family.parent_id = tree.path_id WHERE level + 1 < $depth::INTEGER
)
SELECT tree.pattern, level, sum(instances)::BIGINT AS instances, sum(cpu_ns)::BIGINT AS cpu_ns,
    sum(gpu_ns)::BIGINT AS gpu_ns, sum(busy_ns)::BIGINT AS busy_ns, sum(kernel_ns)::BIGINT AS kernel_ns,
    sum(operations)::BIGINT AS operations
FROM tree JOIN family USING (path_id)
GROUP BY tree.pattern, level
ORDER BY min(first_ns), level, tree.pattern;
