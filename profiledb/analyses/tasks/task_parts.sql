-- title: Parts of the same work on CPU and GPU
-- One row per task, size, device and part of the timings beside the report, in execution order. The shares of a task,
-- size and device add up to 100.
-- page: cpu_vs_gpu
-- needs: task_time
-- includes: sidecar, task, attention
-- column: task | text | | task that was computed
-- column: size | count | | task size, in the program's count
-- column: device | text | | cpu or gpu
-- column: part | text | | allocate, to_device, compute, to_host, or the program's name for it
-- column: repetitions | count | | number of measurements
-- column: median_ns | ns | .0f | median over the repetitions
-- column: mean_ns | ns | .0f | mean over the repetitions
-- column: min_ns | ns | .0f | minimum
-- column: max_ns | ns | .0f | maximum
-- column: share_pct | % | .2f | share of the time of all parts, over the repetitions that have all of them
WITH whole AS (
    SELECT part.*, CASE WHEN is_whole THEN ns END AS whole_ns, min(part.row) OVER (PARTITION BY task) AS task_row
    FROM task_repetition AS part JOIN task_run USING (task, size, device, repetition)
)
SELECT task, size, device, part, count(*) AS repetitions, median(ns) AS median_ns, avg(ns) AS mean_ns,
    min(ns) AS min_ns, max(ns) AS max_ns,
    100 * sum(whole_ns) / nullif(sum(sum(whole_ns)) OVER (PARTITION BY task, size, device), 0) AS share_pct
FROM whole GROUP BY task, size, device, part
ORDER BY min(task_row), size, device, min(row);
