-- Kernels by total time
-- needs: kernel
SELECT short, count(*) AS launches, sum(duration_ns) / 1e6 AS total_ms, avg(duration_ns) / 1e3 AS avg_us
FROM selected_named_kernel
GROUP BY short
ORDER BY total_ms DESC
LIMIT 20;

-- Kernel time by class
-- needs: kernel
SELECT class, count(*) AS launches, sum(duration_ns) / 1e6 AS total_ms
FROM selected_named_kernel
GROUP BY class
ORDER BY total_ms DESC;

-- Launches in each tenth of a second
-- needs: kernel
SELECT start_ns // 100000000 / 10 AS second, count(*) AS launches
FROM kernel
GROUP BY second
ORDER BY second;

-- The twenty longest gaps between two operations of a GPU
-- needs: busy
SELECT device_id, end_ns AS gap_start_ns, next_ns - end_ns AS gap_ns
FROM (SELECT device_id, end_ns, lead(start_ns) OVER (PARTITION BY device_id ORDER BY start_ns) AS next_ns FROM busy)
WHERE next_ns > end_ns
ORDER BY gap_ns DESC
LIMIT 20;

-- Bytes copied and set, by operation
-- needs: memop
SELECT operation, count(*) AS operations, sum(bytes) / 1e6 AS megabytes, sum(end_ns - start_ns) / 1e6 AS total_ms
FROM memop
GROUP BY operation
ORDER BY megabytes DESC;

-- Ranges by name, with how often each ran and how long
-- needs: range
SELECT path, count(*) AS instances, median(end_ns - start_ns) / 1e6 AS median_ms, max(end_ns - start_ns) / 1e6 AS max_ms
FROM range JOIN range_path USING (path_id)
GROUP BY path
ORDER BY instances DESC
LIMIT 50;

-- CUDA calls by total time
-- needs: api_call
SELECT function, count(*) AS calls, sum(end_ns - start_ns) / 1e6 AS total_ms
FROM api_call JOIN api_function USING (name_id)
GROUP BY function
ORDER BY total_ms DESC
LIMIT 20;

-- Profiled launches with their grids
-- needs: ncu_launch
SELECT * FROM ncu_launch ORDER BY ALL LIMIT 50;

-- The slowest reports by time in kernels
-- needs: library_measure
SELECT report.name, gpu, captured_at, value / 1e6 AS kernel_ms
FROM library_summary AS report JOIN library_measure AS figure USING (report_id)
WHERE measure = 'kernel_ns' AND figure.name = ''
ORDER BY kernel_ms DESC
LIMIT 20;

-- The figures that all reports have
-- needs: library_measure
SELECT measure, count(*) AS reports, min(value) AS smallest, median(value) AS middle, max(value) AS largest
FROM library_measure
WHERE name = ''
GROUP BY measure
ORDER BY reports DESC, measure;
