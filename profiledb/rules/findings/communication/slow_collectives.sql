-- title: Collectives that took much longer than others
-- question: Do some collectives take far longer than others of their kind and size?
-- The time that slow collectives take beyond the median, at most that in which the GPU computes nothing beside them, as
-- a share of the active span (first to last operation of each GPU). Slow ones take `times` the median or more, among at
-- least `least` of the same name, grid and size (if NCCL states it). They waited for a late rank or shared the link:
-- in a report of several ranks the finding stands under `rank_imbalance`.
-- needs: kernel
-- includes: finding, work, nccl
-- selects: part
-- once: span, compute, communication, messages
-- parts: rank_imbalance, communication
-- unit: %
-- fires: above
-- param: threshold = 2 fires at or above this share of the active span
-- param: times = 3 a slow collective takes at least this many times the median
-- param: least = 4 fewest collectives of a kind that are judged
-- column: slow | count | | slow collectives
-- column: beyond_ns | ns | | time beyond the median, if compute hides a part of it
-- column: lost_ns | ns | | part of it in which the GPU computes nothing
-- column: kernel | name | | kind with the largest part
-- says: {slow} {slow|collective|collectives} took far longer than the median of {slow|its|their} kind. The excess is {beyond_ns}; for {lost_ns} of it ({value} of the time) the GPU computes nothing.
-- says: {slow} {slow|collective|collectives} took far longer than the median of {slow|its|their} kind. The excess is {lost_ns}, {value} of the time.
-- clear: Collectives that took far longer than others of their kind cost {value} of the time.
-- advice: [waits here] -> find_late_gpu
-- advice: [not waits here] -> compare_ranks
-- source: nsys-ai nccl_anomaly (3 times the mean; here the median, which outliers do not move)
SELECT 0::DOUBLE AS value, 'The selection has too few collectives of one kind and size.' AS unjudged,
    NULL AS cause, 0 AS saving_ns,
    0 AS slow, NULL AS beyond_ns, 0 AS lost_ns, NULL AS kernel, NULL AS evidence
FROM finding_window WHERE ns > 0 AND NOT EXISTS (FROM finding_communication);

WITH sized AS (
    SELECT kernel_id, short, device_id, stream_id, start_ns, end_ns, end_ns - start_ns AS ns, bytes,
        grid_x::BIGINT * grid_y * grid_z AS blocks
    FROM finding_communication LEFT JOIN nccl_message USING (kernel_id)
    WHERE nccl_operation(short) IS DISTINCT FROM 'SendRecv'  -- always waits for a peer (pipeline_bubbles)
), kind AS (
    SELECT device_id, short, bytes, blocks, median(ns) AS median_ns, count(*) AS ops FROM sized
    GROUP BY device_id, short, bytes, blocks HAVING count(*) >= $least::INTEGER
), judged AS (
    SELECT sized.*, ns - median_ns AS beyond_ns, ns >= $times::DOUBLE * median_ns AS slow FROM sized JOIN kind
        ON sized.device_id = kind.device_id AND sized.short = kind.short AND sized.blocks = kind.blocks
        AND sized.bytes IS NOT DISTINCT FROM kind.bytes
), long AS ( -- noqa: ST03
    SELECT device_id, start_ns, end_ns FROM judged WHERE slow
), beside AS (FROM finding_cover('long', 'finding_compute')
), total AS (
    SELECT count(*) AS judged, count(*) FILTER (slow) AS slow,
        coalesce(sum(beyond_ns) FILTER (slow), 0)::BIGINT AS beyond_ns,
        least(coalesce(sum(beyond_ns) FILTER (slow), 0), (SELECT bare_ns FROM beside))::BIGINT AS lost_ns
    FROM judged
), shown AS (
    SELECT {
            'name': short, 'ns': ns, 'bytes': bytes, 'start_ns': start_ns, 'end_ns': end_ns, 'device': device_id,
            'stream': stream_id
        } AS piece
    FROM judged WHERE slow ORDER BY beyond_ns DESC, start_ns LIMIT 10
)
SELECT CASE WHEN judged > 0 OR every = 0 THEN 100.0 * lost_ns / nullif(finding_window.ns, 0) END AS value,
    'The selection has too few collectives of one kind and size.' AS unjudged,
    CASE WHEN (SELECT count(DISTINCT device_id) FROM judged) > 1 THEN 'waits here' END AS cause,
    lost_ns AS saving_ns, slow, nullif(beyond_ns, lost_ns) AS beyond_ns, lost_ns,
    (SELECT short FROM judged WHERE slow GROUP BY short ORDER BY sum(beyond_ns) DESC, short LIMIT 1) AS kernel,
    (SELECT list(piece ORDER BY piece.ns DESC, piece.start_ns) FROM shown) AS evidence
FROM finding_window CROSS JOIN total CROSS JOIN (SELECT count(*) AS every FROM finding_communication);
