-- title: Exposed communication
-- question: Does the GPU spend much of the time only communicating?
-- The time in which communication kernels (NCCL and similar) run and the GPU computes nothing, as a share of the active
-- span (first to last operation of each GPU). It includes waits for other ranks. Collectives of 1 MB or more that take
-- at least half of the communication's time and move less than `slow_bytes` a second wait, or the link is slow: links
-- within a host are several times as fast.
-- needs: kernel
-- includes: finding, work, nccl
-- selects: part
-- once: span, compute, communication, exposed, sums, messages
-- parts: communication
-- level: place
-- unit: %
-- fires: above
-- param: threshold = 5 fires at or above this share of the active span
-- param: slow_bytes = 3000000000 bytes per second below which large collectives wait or have a slow link
-- column: bare_ns | ns | | time with communication alone
-- column: all_ns | ns | | time with communication
-- column: hidden_pct | % | .1f | share of it that overlaps compute
-- column: rate | bytes/s | | size of large collectives over their time, if that is slow
-- column: waits_pct | % | .1f | share of the collectives' time beyond the quickest tenth of their kind and size, if at least half
-- says: The GPU only communicates for {bare_ns} ({value} of the time), mostly waiting for other ranks: collectives spend {waits_pct} of their time beyond what the quickest tenth of the same kind and size takes.
-- says: The GPU only communicates for {bare_ns} ({value} of the time), and its collectives of 1 MB or more move only {rate}: they wait for other ranks, or the link is slow.
-- says: The GPU only communicates for {bare_ns} ({value} of the time); {hidden_pct} of its communication overlaps compute.
-- clear: The GPU only communicates for {value} of the time.
-- advice: [waits or slow] -> compare_ranks
-- advice: [waits here] -> find_late_gpu
-- advice: [exchange, not pipeline parallel] -> exchange_earlier
-- advice: [not waits, not waits here, not exchange or pipeline parallel] -> overlap_communication
-- advice: [not waits, not waits here, not exchange or pipeline parallel] -> send_less
-- change: overlapped_collectives
-- source: TraceLens GPU timeline (exposed communication over 5 %)
SELECT 0::DOUBLE AS value, 0 AS saving_ns, 0 AS bare_ns, 0 AS all_ns, NULL AS hidden_pct, NULL AS cause,
    NULL AS rate, NULL AS waits_pct, NULL AS evidence
FROM finding_window WHERE ns > 0 AND NOT EXISTS (FROM finding_communication);

WITH taken AS (FROM finding_exposed
), sized AS (
    SELECT end_ns - start_ns AS ns, CASE WHEN nccl_operation(short) = 'AllReduce' THEN message.bytes END AS bytes,
        operation, size_bytes
    FROM finding_communication LEFT JOIN nccl_message AS message USING (kernel_id)
    LEFT JOIN (SELECT kernel_id, operation, size_bytes FROM nccl_collective) AS traced USING (kernel_id)
), paced AS (
    SELECT CASE WHEN 2 * sum(ns) >= (SELECT sum(ns) FROM sized)
            AND sum(coalesce(bytes, size_bytes)) * 1e9 < $slow_bytes::BIGINT * sum(ns)
            THEN sum(coalesce(bytes, size_bytes)) * 1e9 / nullif(sum(ns), 0) END AS rate
    FROM sized
    WHERE coalesce(bytes, size_bytes) >= 1000000
        AND (bytes IS NOT NULL OR operation IN ('AllReduce', 'AllGather', 'ReduceScatter'))
), shown AS (
    SELECT {
            'name': short, 'ns': end_ns - start_ns, 'start_ns': start_ns, 'end_ns': end_ns, 'device': device_id,
            'stream': stream_id
        } AS piece
    FROM finding_communication ORDER BY end_ns - start_ns DESC, start_ns LIMIT 10
)
SELECT 100.0 * bare_ns / nullif(finding_window.ns, 0) AS value, bare_ns AS saving_ns, bare_ns,
    taken.ns AS all_ns, 100.0 * (taken.ns - bare_ns) / nullif(taken.ns, 0) AS hidden_pct,
    CASE WHEN exchange.most THEN 'exchange'
        WHEN waits.pct IS NOT NULL THEN CASE WHEN finding_window.gpus = 1 THEN 'waits' ELSE 'waits here' END
        WHEN rate IS NOT NULL AND finding_window.gpus = 1 THEN 'slow' END AS cause,
    CASE WHEN NOT exchange.most AND finding_window.gpus = 1 THEN rate END AS rate,
    CASE WHEN NOT exchange.most THEN waits.pct END AS waits_pct,
    (SELECT list(piece ORDER BY piece.ns DESC, piece.start_ns) FROM shown) AS evidence
FROM finding_window CROSS JOIN taken CROSS JOIN finding_exchange AS exchange
CROSS JOIN finding_collective_wait AS waits CROSS JOIN paced;
