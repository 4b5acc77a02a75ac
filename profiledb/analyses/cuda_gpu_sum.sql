-- title: CUDA GPU summary (kernels and memory operations)
-- Durations of kernels, copies and memory sets by name, as `nsys stats -r cuda_gpu_sum` prints them (`by=short` is its
-- option `base`). Graphs that were traced as a whole are not in it, as there. Of equal totals the smaller name comes
-- first.
-- Operations with an end before their start are left out, which nsys does not do.
-- param: by = demangled (demangled, short, mangled) which name of the kernel to group by
-- needs: kernel or memop
-- column: Time (%) | % | .1f | share of the sum of the listed totals
-- column: Total Time (ns) | ns | | sum of durations
-- column: Instances | count | | number of executions
-- column: Avg (ns) | ns | .1f | mean duration
-- column: Med (ns) | ns | .1f | median duration
-- column: Min (ns) | ns | | shortest duration
-- column: Max (ns) | ns | | longest duration
-- column: StdDev (ns) | ns | .1f | sample deviation (n - 1), 0 for a single one
-- column: Category | text | | CUDA_KERNEL or MEMORY_OPER
-- column: Operation | text | | name of the kernel, or kind and direction of the memory operation
WITH kernel_text AS (
    SELECT name_id, CASE $by WHEN 'short' THEN short WHEN 'mangled' THEN coalesce(mangled, demangled)
            ELSE demangled END AS name
    FROM kernel_name
), numbered AS MATERIALIZED (  -- numbers to group by: texts take twice as long
    SELECT name, row_number() OVER () AS name_key
    FROM (SELECT name FROM kernel_text UNION SELECT operation FROM selected_memop AS memop)
), operations AS (
    SELECT name_key, name, end_ns - start_ns AS duration, 'CUDA_KERNEL' AS category
    FROM selected_kernel AS kernel JOIN kernel_text USING (name_id) LEFT JOIN numbered USING (name)
    UNION ALL
    SELECT name_key, name, end_ns - start_ns, 'MEMORY_OPER'
    FROM selected_memop AS memop JOIN numbered ON name = operation
), summary AS (
    SELECT any_value(name) AS name, min(category) AS category, sum(duration)::BIGINT AS total, count(*) AS num,
        avg(duration) AS mean, median(duration) AS med, min(duration) AS low, max(duration) AS high,
        deviation(duration) AS dev
    FROM operations
    GROUP BY name_key
)
SELECT nsys_round(total * 1e2 / sum(total) OVER ()) AS "Time (%)", total AS "Total Time (ns)", num AS "Instances",
    nsys_round(mean) AS "Avg (ns)", nsys_round(med) AS "Med (ns)", low AS "Min (ns)", high AS "Max (ns)",
    nsys_round(dev) AS "StdDev (ns)", category AS "Category", name AS "Operation"
FROM summary
ORDER BY total DESC, name NULLS FIRST;
