-- title: Exposed communication
-- question: Does the GPU only communicate for much of the time?
-- The time in which kernels of communication (NCCL and its kin) ran and nothing was computed, as a share of the time
-- from the first to the last operation, over all GPUs of the report. It holds the wait for other ranks.
-- needs: kernel
-- includes: finding, work, nccl
-- selects: part
-- once: compute, communication
-- parts: communication
-- level: place
-- unit: %
-- fires: above
-- param: threshold = 5 share of the time from which on it is said
-- column: bare_ns | ns | | time with communication alone
-- column: all_ns | ns | | time with communication
-- column: hidden_pct | % | .1f | share of it beside compute
-- says: For {bare_ns} ({value} of the time) the GPU only communicates and computes nothing; {hidden_pct} of the communication runs beside compute.
-- clear: The GPU communicates and computes nothing for {value} of the time.
-- advice: -> overlap_communication
-- advice: -> send_less
-- source: TL gpu timeline (exposed communication over 5 %)
WITH taken AS (FROM finding_exposed
), shown AS (
    SELECT {
            'name': short, 'ns': end_ns - start_ns, 'start_ns': start_ns, 'end_ns': end_ns, 'device': device_id,
            'stream': stream_id
        } AS piece
    FROM finding_communication ORDER BY end_ns - start_ns DESC, start_ns LIMIT 10
)
SELECT 100.0 * bare_ns / nullif(finding_window.ns, 0) AS value, bare_ns AS saving_ns, bare_ns,
    taken.ns AS all_ns, 100.0 * (taken.ns - bare_ns) / nullif(taken.ns, 0) AS hidden_pct,
    (SELECT list(piece ORDER BY piece.ns DESC, piece.start_ns) FROM shown) AS evidence
FROM finding_window CROSS JOIN taken;
