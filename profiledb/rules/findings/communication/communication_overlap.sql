-- title: Communication overlaps little
-- question: Does most communication run without compute beside it?
-- The share of the time of communication kernels that overlaps compute. The rule does not judge if they run for less
-- than `least_pct` percent of the active span (first to last operation of each GPU). It is a note beside exposed
-- communication, which has the cost.
-- needs: kernel
-- includes: finding, work, nccl
-- selects: part
-- once: span, compute, communication, exposed, sums
-- unit: %
-- fires: below
-- weight: note
-- param: threshold = 70 fires at or below this share of overlap
-- param: least_pct = 2 smallest share of the active span that is judged, percent
-- column: all_ns | ns | | time with communication
-- column: hidden_ns | ns | | part of it that overlaps compute
-- says: {value} of the communication ({hidden_ns} of {all_ns}) runs beside compute.
-- clear: {value} of the communication runs beside compute.
-- advice: [exchange, not pipeline parallel] -> exchange_earlier
-- advice: [not exchange or pipeline parallel] -> overlap_communication
-- source: TraceLens (0.7; its 100 µs are a share of the time here); nsys-ai (0.3)
SELECT NULL AS value, 'The selection has no communication kernels, such as those of NCCL.' AS unjudged, 0 AS all_ns,
    0 AS hidden_ns, NULL AS cause
FROM finding_communication HAVING count(*) = 0;

WITH taken AS (FROM finding_exposed
)
SELECT CASE WHEN taken.ns > 0 AND 100 * taken.ns >= $least_pct::DOUBLE * finding_window.ns
        THEN 100.0 * (taken.ns - bare_ns) / taken.ns END AS value,
    CASE WHEN taken.ns > 0 THEN format('Communication takes {:.1f} % of the time: too little to judge its overlap.',
            100.0 * taken.ns / finding_window.ns)
        ELSE 'The selection has no communication kernels, such as those of NCCL.' END AS unjudged,
    taken.ns AS all_ns, taken.ns - bare_ns AS hidden_ns, CASE WHEN exchange.most THEN 'exchange' END AS cause
FROM finding_window CROSS JOIN taken CROSS JOIN finding_exchange AS exchange;
