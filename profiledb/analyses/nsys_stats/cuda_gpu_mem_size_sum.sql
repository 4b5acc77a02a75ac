-- title: CUDA GPU memory operations summary (by size)
-- Sizes of memcpy and memset operations by name, as `nsys stats -r cuda_gpu_mem_size_sum` prints them: in MB of
-- 1,000,000 bytes with three decimals, so small sizes show as 0.000.
-- needs: memop
-- includes: selection, nsys
-- selects: part
-- column: Total (MB) | MB | .3f | sum of sizes
-- column: Count | count | | number of operations
-- column: Avg (MB) | MB | .3f | mean size
-- column: Med (MB) | MB | .3f | median size
-- column: Min (MB) | MB | .3f | smallest size
-- column: Max (MB) | MB | .3f | largest size
-- column: StdDev (MB) | MB | .3f | sample standard deviation (n - 1), 0 for a single launch
-- column: Operation | text | | kind and direction
WITH summary AS (
    SELECT operation, sum(bytes)::BIGINT AS total, count(*) AS num, avg(bytes) AS mean, median(bytes) AS med,
        min(bytes) AS low, max(bytes) AS high, deviation(bytes) AS dev
    FROM selected_memop AS memop WHERE operation IS NOT NULL
    GROUP BY operation
)
SELECT total / 1e6 AS "Total (MB)", num AS "Count", mean / 1e6 AS "Avg (MB)", med / 1e6 AS "Med (MB)",
    low / 1e6 AS "Min (MB)", high / 1e6 AS "Max (MB)", dev / 1e6 AS "StdDev (MB)", operation AS "Operation"
FROM summary
ORDER BY total DESC, operation;
