-- Times of the same work on CPU and GPU (sidecar.sql).
-- includes: selection, sidecar

-- The n-th row of a part of a task, size and device is its n-th repetition. Impossible times (30 years) are left out,
-- and so are scheduler times while another program used the GPU: they are not those of the task.
CREATE OR REPLACE VIEW task_repetition AS
SELECT task, size, device, part, ns, row,
    row_number() OVER (PARTITION BY task, size, device, part ORDER BY row) AS repetition
FROM (
    SELECT task, size, device, round(seconds * 1e9) AS ns, row_number() OVER () AS row,
        CASE WHEN lower(part) IN ('allocate', 'to_device', 'compute', 'to_host') THEN lower(part) ELSE part END AS part
    FROM task_time WHERE load IS DISTINCT FROM 'competing'
) WHERE ns < 1e18 AND device IN ('cpu', 'gpu');

-- One row per task, size, device and repetition: its parts, and their total. A repetition that lacks a part which
-- others of its device have is incomplete and has no total.
CREATE OR REPLACE VIEW task_run AS
SELECT task, size, device, repetition, min(row) AS row,
    count(*) = max(count(*)) OVER (PARTITION BY task, size, device) AS is_whole,
    CASE WHEN is_whole THEN sum(ns) END AS total_ns,
    sum(ns) FILTER (part = 'allocate') AS allocate_ns, sum(ns) FILTER (part = 'to_device') AS to_device_ns,
    sum(ns) FILTER (part = 'compute') AS compute_ns, sum(ns) FILTER (part = 'to_host') AS to_host_ns,
    sum(ns) FILTER (part NOT IN ('allocate', 'to_device', 'compute', 'to_host')) AS other_ns,
    CASE WHEN is_whole AND (to_device_ns IS NOT NULL OR to_host_ns IS NOT NULL)
        THEN coalesce(to_device_ns, 0) + coalesce(to_host_ns, 0) END AS transfer_ns
FROM task_repetition GROUP BY task, size, device, repetition;

-- FLOPs of a task at a size, if the program reports them (flops_by_task of NAME.meta.json, by TASK_SIZE).
CREATE OR REPLACE VIEW task_flop AS
SELECT key, any_value(flops) AS flops
FROM (SELECT key, TRY_CAST(value AS DOUBLE) AS flops FROM meta WHERE starts_with(key, 'flops_by_task.'))
WHERE flops > 0 AND isfinite(flops) GROUP BY key;

-- Bytes of a task at a size to the GPU and to the host, if the program reports them (bytes_by_task, which are both, and
-- result_bytes_by_task of NAME.meta.json).
CREATE OR REPLACE VIEW task_bytes AS
SELECT substr(key, strpos(key, '.') + 1) AS key,
    max(bytes) FILTER (starts_with(key, 'result_bytes_by_task.')) AS back_bytes,
    max(bytes) FILTER (starts_with(key, 'bytes_by_task.')) - back_bytes AS there_bytes
FROM (SELECT key, TRY_CAST(value AS DOUBLE) AS bytes FROM meta WHERE regexp_matches(key, '^(result_)?bytes_by_task\.'))
WHERE bytes >= 0 AND isfinite(bytes) GROUP BY 1 HAVING there_bytes >= 0;

-- Figures of a task and size: totals over its complete repetitions, parts over the repetitions that have the part.
-- Deviations are rounded, because their last digits differ between runs.
CREATE OR REPLACE VIEW task_figure AS
WITH figure AS (
    SELECT task, size, min(row) AS first_row, count(total_ns) FILTER (device = 'cpu') AS cpu_repetitions,
        count(total_ns) FILTER (device = 'gpu') AS gpu_repetitions,
        count(*) FILTER (NOT is_whole) AS partial_repetitions,
        median(total_ns) FILTER (device = 'cpu') AS cpu_median_ns, avg(total_ns) FILTER (device = 'cpu') AS cpu_mean_ns,
        round(stddev_samp(total_ns) FILTER (device = 'cpu'), 3) AS cpu_std_ns,
        min(total_ns) FILTER (device = 'cpu') AS cpu_min_ns, max(total_ns) FILTER (device = 'cpu') AS cpu_max_ns,
        median(total_ns) FILTER (device = 'gpu') AS gpu_median_ns, avg(total_ns) FILTER (device = 'gpu') AS gpu_mean_ns,
        round(stddev_samp(total_ns) FILTER (device = 'gpu'), 3) AS gpu_std_ns,
        min(total_ns) FILTER (device = 'gpu') AS gpu_min_ns, max(total_ns) FILTER (device = 'gpu') AS gpu_max_ns,
        median(compute_ns) FILTER (device = 'cpu') AS cpu_compute_median_ns,
        avg(compute_ns) FILTER (device = 'cpu') AS cpu_compute_mean_ns,
        round(stddev_samp(compute_ns) FILTER (device = 'cpu'), 3) AS cpu_compute_std_ns,
        min(compute_ns) FILTER (device = 'cpu') AS cpu_compute_min_ns,
        max(compute_ns) FILTER (device = 'cpu') AS cpu_compute_max_ns,
        median(compute_ns) FILTER (device = 'gpu') AS gpu_compute_median_ns,
        avg(compute_ns) FILTER (device = 'gpu') AS gpu_compute_mean_ns,
        round(stddev_samp(compute_ns) FILTER (device = 'gpu'), 3) AS gpu_compute_std_ns,
        min(compute_ns) FILTER (device = 'gpu') AS gpu_compute_min_ns,
        max(compute_ns) FILTER (device = 'gpu') AS gpu_compute_max_ns,
        median(allocate_ns) FILTER (device = 'cpu') AS cpu_allocate_ns,
        median(allocate_ns) FILTER (device = 'gpu') AS gpu_allocate_ns,
        median(to_device_ns) FILTER (device = 'gpu') AS gpu_to_device_ns,
        median(to_host_ns) FILTER (device = 'gpu') AS gpu_to_host_ns,
        median(other_ns) FILTER (device = 'gpu') AS gpu_other_ns,
        sum(transfer_ns) FILTER (device = 'gpu') AS transfer_ns, sum(total_ns) FILTER (device = 'gpu') AS gpu_sum_ns
    FROM task_run GROUP BY task, size
)
SELECT figure.* EXCLUDE (first_row, transfer_ns, gpu_sum_ns), min(first_row) OVER (PARTITION BY task) AS task_row,
    100 * transfer_ns / nullif(gpu_sum_ns, 0) AS transfer_share_pct,
    cpu_median_ns / nullif(gpu_median_ns, 0) AS speedup_total,
    cpu_compute_median_ns / nullif(gpu_compute_median_ns, 0) AS speedup_compute, flops,
    1e9 * flops / nullif(cpu_compute_median_ns, 0) AS cpu_flops_per_s,
    1e9 * flops / nullif(gpu_compute_median_ns, 0) AS gpu_flops_per_s
FROM figure LEFT JOIN task_flop ON key = concat('flops_by_task.', task, '_', size);

-- Ranges around a repetition on the GPU: named TASK_SIZE/gpu, closed, outside warm-up and outside each other.
CREATE OR REPLACE VIEW task_range AS
WITH RECURSIVE walked AS (
    SELECT path_id, name, is_warmup(name) AS warmup FROM range_path WHERE parent_id IS NULL
    UNION ALL
    SELECT own.path_id, own.name, walked.warmup OR is_warmup(own.name)
    FROM walked JOIN range_path AS own ON own.parent_id = walked.path_id
), named AS (
    SELECT DISTINCT task, size, concat(task, '_', size, '/gpu') AS name FROM task_time
)
SELECT task, size, range_id, pre, post, end_ns - start_ns AS host_ns
FROM range JOIN walked USING (path_id) JOIN named USING (name)
WHERE closed AND NOT warmup
QUALIFY coalesce(pre > max(post) OVER (ORDER BY pre, post ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), true);

-- CUDA calls in these ranges, one row per call and range: by the ranges of its thread, or of the thread that drives it.
CREATE OR REPLACE VIEW task_call AS
WITH marked AS (
    SELECT range.pre, max(one.pre) OVER until_here AS top, max(one.post) OVER until_here AS last
    FROM range LEFT JOIN task_range AS one ON one.pre = range.pre WINDOW until_here AS (ORDER BY "range".pre)
), inside AS (
    SELECT marked.pre, range_id FROM marked JOIN task_range AS one ON one.pre = top WHERE marked.pre <= last
)
SELECT call_id, range_id, end_ns - start_ns AS ns, name_id FROM api_call JOIN inside ON process_range = pre
UNION ALL  -- further ranges around a call, if some cross
SELECT DISTINCT further.call_id, inside.range_id, end_ns - start_ns, name_id
FROM call_range AS further JOIN inside ON further.process_range = inside.pre
JOIN api_call ON api_call.call_id = further.call_id LEFT JOIN inside AS own ON own.pre = api_call.process_range
WHERE own.range_id IS DISTINCT FROM inside.range_id;
