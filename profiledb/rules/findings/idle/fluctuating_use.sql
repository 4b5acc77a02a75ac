-- title: GPU use fluctuates
-- question: Does the GPU alternate between bursts of work and idle time?
-- The share of samples of GPU activity (GR Active, else SMs Active) below `low` percent, if the 95th percentile reaches
-- `high` percent; otherwise 0. Only samples from the first to the last operation of each GPU count. Work then comes in
-- bursts: the GPU is fast enough and waits between them.
-- needs: kernel or memop or graph_launch
-- needs: gpu_metric
-- includes: finding
-- selects: part
-- unit: %
-- fires: above
-- weight: note
-- param: threshold = 5 fires at or above this share of samples below `low`
-- param: low = 10 a sample counts if its activity is below this, percent
-- param: high = 70 activity that the 95th percentile must reach, percent
-- param: least = 50 fewest samples that can be judged
-- column: samples | count | | samples from the first to the last operation
-- column: high_pct | % | .1f | 95th percentile of the activity
-- column: median_pct | % | .1f | median of the activity
-- says: The GPU works in bursts: it is almost idle in {value} of {samples} samples, while the busiest 5 % reach {high_pct}.
-- clear: The GPU's activity is steady: median {median_pct}, P95 {high_pct} in {samples} samples.
-- advice: [PyTorch, loader workers] Give the GPU its next batch earlier: more workers, a larger `prefetch_factor`. Idle shows what the CPU does between the bursts.
-- advice: [else] Prepare the next batch while the GPU works. Idle shows what the CPU does between the bursts.
-- source: SageMaker Debugger LowGPUUtilization (p95 >= 70 %, p5 < 10 %)
WITH known AS (
    SELECT name FROM gpu_metric_name WHERE regexp_matches(name, '^(GR|SMs?) Active')
    ORDER BY starts_with(name, 'GR') DESC, name LIMIT 1
), metric_value AS (UNPIVOT gpu_metric ON COLUMNS(* EXCLUDE (gpu_id, time_ns)) INTO NAME name VALUE pct
), edge AS (
    SELECT device_id, min(start_ns) AS first_ns, max(end_ns) AS last_ns FROM selected_active GROUP BY device_id
), sample AS MATERIALIZED (
    SELECT pct::DOUBLE AS pct FROM metric_value JOIN known USING (name) JOIN edge ON device_id = gpu_id
    WHERE time_ns BETWEEN first_ns AND last_ns
), total AS (
    SELECT count(*) AS samples, quantile_cont(pct, 0.95) AS high_pct, median(pct) AS median_pct,
        100.0 * count(*) FILTER (pct < $low::DOUBLE) / nullif(count(*), 0) AS low_pct
    FROM sample
)
SELECT CASE WHEN samples >= $least::INTEGER THEN CASE WHEN high_pct >= $high::DOUBLE THEN low_pct ELSE 0 END END
        AS value,
    CASE WHEN samples < $least::INTEGER THEN 'Too few samples of GPU activity lie in the selection.' END AS unjudged,
    samples, high_pct, median_pct, NULL AS evidence
FROM total;
