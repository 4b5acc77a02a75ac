-- title: CUDA GPU memory operations summary (by time)
-- Durations of memcpy and memset operations by name, as `nsys stats -r cuda_gpu_mem_time_sum` prints them.
-- needs: memop
-- includes: selection, nsys
-- selects: part
-- column: Time (%) | % | .1f | share of the sum of the listed totals
-- column: Total Time (ns) | ns | | sum of durations
-- column: Count | count | | number of operations
-- column: Avg (ns) | ns | .1f | mean duration
-- column: Med (ns) | ns | .1f | median duration
-- column: Min (ns) | ns | | shortest duration
-- column: Max (ns) | ns | | longest duration
-- column: StdDev (ns) | ns | .1f | sample standard deviation (n - 1), 0 for a single launch
-- column: Operation | text | | kind and direction
WITH summary AS (
    SELECT operation, sum(end_ns - start_ns)::BIGINT AS total, count(*) AS num, avg(end_ns - start_ns) AS mean,
        median(end_ns - start_ns) AS med,
        min(end_ns - start_ns) AS low, max(end_ns - start_ns) AS high, deviation(end_ns - start_ns) AS dev
    FROM selected_memop AS memop WHERE operation IS NOT NULL
    GROUP BY operation
)
SELECT nsys_round(total * 1e2 / sum(total) OVER ()) AS "Time (%)", total AS "Total Time (ns)", num AS "Count",
    nsys_round(mean) AS "Avg (ns)", nsys_round(med) AS "Med (ns)", low AS "Min (ns)", high AS "Max (ns)",
    nsys_round(dev) AS "StdDev (ns)", operation AS "Operation"
FROM summary
ORDER BY total DESC, operation;
