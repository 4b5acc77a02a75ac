-- title: Slow copies
-- question: Do large copies between CPU and GPU stay far below the link's peak?
-- The time that slow copies take beyond that at the link's peak, at most the time in which the GPU computes nothing
-- meanwhile, as a share of the active span (first to last operation of each GPU). A copy between CPU and GPU of
-- `least_bytes` or more is slow below `slow_pct` percent of the peak. No report shows the link: the peak is that of the
-- GPU's data sheet, and a slot may be slower.
-- needs: kernel or memop or graph_launch
-- includes: finding, work, memory
-- selects: part
-- once: span, functions, compute
-- parts: copies
-- unit: %
-- fires: above
-- param: threshold = 2 fires at or above this share of the active span
-- param: slow_pct = 50 a copy is slow below this share of the link's peak, percent
-- param: least_bytes = 1048576 start-up limits smaller copies, not the link
-- column: lost_ns | ns | | time beyond that at the peak of the link, while the GPU computes nothing
-- column: copies | count | | slow copies
-- column: rate | bytes/s | .0f | bytes over time of the slow copies
-- column: peak | bytes/s | .0f | peak of the link
-- column: rate_pct | % | .1f | rate as a share of the peak
-- says: {copies} large {copies|copy reaches|copies reach} {rate}, {rate_pct} of the link's {peak}: that costs {lost_ns} ({value} of the time).
-- clear: Large copies between CPU and GPU lose {value} of the time against the link's peak.
-- advice: [not pinned memory, to host] -> pin_results
-- advice: [not pinned memory, not to host] -> pin
-- advice: [pinned memory, not HIP] Check the link: `nvidia-smi -q -d PCIE` shows its generation and width under load, and `numactl` sets the NUMA node of the process. The memory is already pinned.
-- advice: [else, pinned memory] Check the link and the NUMA node of the process (`numactl`): the memory is pinned already.
-- advice: [else, not HIP] If it is already pinned, check the link (`nvidia-smi -q -d PCIE`: generation and width under load) and the NUMA node of the process (`numactl`).
-- source: NVIDIA omniperf diagnose-perf (PCIe generation under load); 50 % and 1 MiB: ours; samples reach 14 to 31 % pageable, 87 % pinned
SELECT 0::DOUBLE AS value, NULL AS unjudged, NULL AS cause, 0 AS saving_ns, 0 AS lost_ns, 0 AS copies, NULL AS rate,
    NULL AS peak, NULL AS rate_pct, NULL AS evidence
FROM finding_window
WHERE ns > 0 AND NOT EXISTS (
        FROM selected_memop
        WHERE kind <> 'memset' AND copy_kind IN (1, 2, 3, 4, 11, 12) AND bytes >= $least_bytes::BIGINT
    );

WITH large AS (
    SELECT * FROM selected_copy WHERE limited_by = 'host link' AND bytes >= $least_bytes::BIGINT
), slow AS MATERIALIZED (
    SELECT *, duration_ns - bytes * 1e9 / peak_bytes_per_s AS lost_ns FROM large
    WHERE bytes * 1e11 < $slow_pct::DOUBLE * peak_bytes_per_s * duration_ns
), total AS (
    SELECT count(*) AS copies, least(coalesce(sum(lost_ns), 0)::BIGINT, (SELECT ns FROM finding_window)) AS lost_ns,
        any_value(peak_bytes_per_s) AS peak, 2 * sum(duration_ns) FILTER (copy_kind = 2) > sum(duration_ns) AS back,
        sum(bytes) * 1e9 / sum(duration_ns) AS rate
    FROM slow
), unknown AS (SELECT count(*) AS copies FROM large WHERE peak_bytes_per_s IS NULL
), beside AS (FROM finding_cover('slow', 'finding_compute')
), shown AS (
    SELECT {
            'name': direction, 'note': function, 'ns': duration_ns, 'bytes': bytes, 'start_ns': slow.start_ns,
            'end_ns': slow.end_ns, 'device': device_id, 'stream': stream_id
        } AS piece
    FROM (FROM slow ORDER BY lost_ns DESC, start_ns LIMIT 10) AS slow
    LEFT JOIN (SELECT call_id, function FROM api_call JOIN api_function USING (name_id)) USING (call_id)
)
SELECT CASE WHEN unknown.copies = 0 THEN 100.0 * least(lost_ns, bare_ns) / nullif(finding_window.ns, 0) END AS value,
    CASE WHEN unknown.copies > 0 THEN 'No data sheet states the peak of the link of this GPU.' END AS unjudged,
    CASE WHEN back THEN 'to host' END AS cause,
    least(lost_ns, bare_ns) AS saving_ns, least(lost_ns, bare_ns) AS lost_ns,
    total.copies, rate, peak, 100.0 * rate / peak AS rate_pct,
    (SELECT list(piece ORDER BY piece.ns DESC, piece.start_ns) FROM shown) AS evidence
FROM finding_window CROSS JOIN total CROSS JOIN unknown CROSS JOIN beside;
