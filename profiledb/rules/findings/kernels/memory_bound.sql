-- title: Limited by the GPU's memory
-- question: Is the GPU's memory busy while its SMs are not?
-- The mean of the sampled DRAM bandwidth (reads and writes together) while the GPU ran kernels, in percent of its
-- peak, where SMs issued in less than `compute_pct` of the cycles and tensor cores were active in less: otherwise the
-- value is 0. Samples count that fall into busy time of the selection. A note: it says which kind of change helps,
-- not what to change.
-- needs: gpu_metric
-- needs: kernel
-- includes: finding
-- selects: part
-- unit: %
-- fires: above
-- weight: note
-- param: threshold = 70 share of the peak bandwidth from which on it is said
-- param: compute_pct = 50 activity of the SMs up to which memory is what limits
-- column: dram_pct | % | .1f | mean bandwidth of the memory
-- column: issue_pct | % | .1f | share of the cycles in which SMs issued
-- column: tensor_pct | % | .1f | share of the cycles in which tensor cores were active
-- column: samples | count | | samples
-- says: The memory runs at {value} of its peak, SMs issue in {issue_pct} of the cycles: bytes limit this part, not arithmetic.
-- clear: The memory runs at {dram_pct} of its peak while kernels run, SMs issue in {issue_pct} of the cycles.
-- advice: -> fuse
-- advice: [PyTorch, 16-bit products or 8-bit products] Move fewer bytes: recompute cheap values instead of storing them, larger tiles in kernels of your own.
-- advice: [else, PyTorch] Move fewer bytes: activations in BF16, cheap values recomputed instead of stored, larger tiles in kernels of your own.
-- advice: [else] Move fewer bytes: smaller types, cheap values recomputed instead of stored, larger tiles.
-- source: XPROF smart suggestion (memory over 70 %, compute under 50 %)
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
