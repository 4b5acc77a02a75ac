-- title: Limited by the GPU's memory
-- question: Is the GPU's memory busy while its SMs are not?
-- The mean sampled DRAM bandwidth (reads and writes together) while the GPU runs kernels, in percent of its peak. It is
-- 0 if SMs issue, or tensor cores are active, in `compute_pct` percent of the cycles or more. Samples count in busy
-- time of the selection. The finding tells which kind of change helps, not which change.
-- needs: gpu_metric
-- needs: kernel
-- includes: finding
-- selects: part
-- unit: %
-- fires: above
-- weight: note
-- param: threshold = 70 fires at or above this share of the peak bandwidth
-- param: compute_pct = 50 activity of SMs or tensor cores from which the value is 0, percent
-- column: dram_pct | % | .1f | mean DRAM bandwidth in percent of its peak
-- column: issue_pct | % | .1f | share of the cycles in which SMs issue
-- column: tensor_pct | % | .1f | share of the cycles in which tensor cores are active
-- column: samples | count | | samples in busy time
-- says: GPU memory runs at {value} of its peak bandwidth, while SMs issue in {issue_pct} of the cycles: memory traffic limits this part, not arithmetic.
-- clear: While kernels run, GPU memory reaches {dram_pct} of its peak bandwidth, and SMs issue in {issue_pct} of the cycles.
-- advice: -> fuse
-- advice: [PyTorch, 16-bit products or 8-bit products] Move fewer bytes: recompute cheap values instead of storing them, larger tiles in kernels of your own.
-- advice: [else, PyTorch] Move fewer bytes: activations in BF16, cheap values recomputed instead of stored, larger tiles in kernels of your own.
-- advice: [else] Move fewer bytes: smaller types, cheap values recomputed instead of stored, larger tiles.
-- source: XProf smart suggestion (memory over 70 %, compute under 50 %)
WITH wanted AS (
    SELECT name, CASE WHEN regexp_matches(name, '^DRAM (Read|Write)') THEN 'dram'
        WHEN regexp_matches(name, '^SM Issue') THEN 'issue'
        WHEN regexp_matches(name, '^Tensor Active') THEN 'tensor' END AS what
    FROM gpu_metric_name
), sample AS (
    SELECT gpu_metric.* FROM gpu_metric ASOF JOIN selected_busy AS work
        ON gpu_metric.gpu_id = work.device_id AND gpu_metric.time_ns >= work.start_ns
    WHERE gpu_metric.time_ns <= work.end_ns
), mean AS (
    SELECT what, sum(amount) AS amount FROM (
        UNPIVOT (SELECT avg(COLUMNS(* EXCLUDE (gpu_id, time_ns))) FROM sample) ON COLUMNS(*) INTO NAME name VALUE amount
    ) JOIN (SELECT DISTINCT * FROM wanted WHERE what IS NOT NULL) USING (name) GROUP BY what
), total AS (
    SELECT max(amount) FILTER (what = 'dram') AS dram_pct, max(amount) FILTER (what = 'issue') AS issue_pct,
        max(amount) FILTER (what = 'tensor') AS tensor_pct
    FROM mean
)
SELECT CASE WHEN greatest(issue_pct, tensor_pct) >= $compute_pct::DOUBLE THEN 0
        WHEN issue_pct IS NOT NULL THEN dram_pct END AS value,
    'No samples of DRAM bandwidth and SM issue lie in the busy time of the selection.' AS unjudged, dram_pct,
    issue_pct, tensor_pct, (SELECT count(*) FROM sample) AS samples
FROM total;
