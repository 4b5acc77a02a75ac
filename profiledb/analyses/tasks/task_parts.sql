-- title: Parts of the same work on CPU and GPU
-- One row per task, size, device and part of the times that lie beside the report, in the order in which they ran. The
-- shares of a task, size and device add up to 100.
-- page: cpu_vs_gpu
-- needs: task_time
-- includes: sidecar, task, attention
-- column: task | text | | what was computed
-- column: size | count | | how large, as the program counts
-- column: device | text | | cpu or gpu
-- column: part | text | | allocate, to_device, compute, to_host, or what the program calls it
-- column: repetitions | count | | how often it was measured
-- column: median_ns | ns | .0f | median over the repetitions
-- column: mean_ns | ns | .0f | mean over the repetitions
-- column: min_ns | ns | .0f | least
-- column: max_ns | ns | .0f | most
-- column: share_pct | % | .2f | of the time of all parts, over the repetitions that have all of them
WITH whole AS (
    SELECT part.*, CASE WHEN is_whole THEN ns END AS whole_ns, min(part.row) OVER (PARTITION BY task) AS task_row
    FROM task_repetition AS part JOIN task_run USING (task, size, device, repetition)
)
SELECT task, size, device, part, count(*) AS repetitions, median(ns) AS median_ns, avg(ns) AS mean_ns,
    min(ns) AS min_ns, max(ns) AS max_ns,
    100 * sum(whole_ns) / nullif(sum(sum(whole_ns)) OVER (PARTITION BY task, size, device), 0) AS share_pct
FROM whole GROUP BY task, size, device, part
ORDER BY min(task_row), size, device, min(row);
