-- title: Launching thread preempted
-- question: Does the GPU wait while something else has the core of the thread that feeds it?
-- The share of the time from the first to the last operation of each GPU that is idle while the thread that launches
-- the next operation, and has not launched it yet, is off its core for at least `least_ns` at a time, outside all calls
-- into CUDA and the operating system. A thread that waits by itself does so in such a call, so this one would go on if
-- it had a core. nsys records no state of threads that tells it at once; a page that is read from the disk, and calls
-- that nothing traces, look the same. Before its first and after its last switch a thread counts as running.
-- needs: kernel or memop or graph_launch
-- needs: sched_event
-- needs: osrt_call
-- includes: finding, idle, waiting
-- selects: part
-- once: functions, idle
-- parts: host code
-- unit: %
-- fires: above
-- param: threshold = 2 share of the time from which on it is said
-- param: least_ns = 1000000 shorter times off the core do not count
-- column: off_ns | ns | | idle time of all GPUs in which the thread had no core
-- column: times | count | | how often that was
-- column: longest_ns | ns | | the longest of these times
-- column: thread | text | | process and thread id of the thread
-- column: range | name | | range in which most of this time lies, with a star for the last number
-- says: The GPU waits {value} of the time ({off_ns}) for a thread that has no core, {times} {times|time|times}, for at most {longest_ns}, most of it in {range}.
-- says: The GPU waits {value} of the time ({off_ns}) for a thread that has no core, {times} {times|time|times}, for at most {longest_ns}.
-- clear: The GPU waits {value} of the time for a thread that has no core.
-- advice: Give the process more cores: a larger CPU quota of the container, `taskset` or `numactl` for a set of its own, fewer programs on the machine.
-- advice: [PyTorch] Start fewer threads than there are cores: `OMP_NUM_THREADS`, `torch.set_num_threads`, `num_workers` of each rank.
-- advice: [not PyTorch] Start fewer threads than there are cores: `OMP_NUM_THREADS`.
-- source: NAI book (a thread that could run waits over 1 ms for a core); told by calls instead of states, and threshold own
WITH piece AS MATERIALIZED (
    SELECT row_number() OVER () AS piece_id, device_id, tid, s, e, pre FROM selected_idle(2000, NULL)
    WHERE reason = 'host code' AND tid IN (SELECT DISTINCT global_tid FROM sched_event)
), core AS (
    SELECT tid, t, on_core, (lead(t) OVER (PARTITION BY tid ORDER BY t) - t)::HUGEINT AS ns FROM finding_core()
), long_off AS (
    SELECT tid, t, NOT on_core AND coalesce(ns BETWEEN $least_ns::BIGINT AND 2305843009213693952, false) AS is_off, ns
    FROM core
), off_edge AS MATERIALIZED (
    SELECT tid, t, is_off, coalesce(sum(CASE WHEN is_off THEN ns ELSE 0 END) OVER (
            PARTITION BY tid ORDER BY t ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), 0) AS before_ns
    FROM long_off
), at_edge AS (  -- for how long the thread had been off its core at the end of each piece, less at its start
    SELECT piece_id, sum(sign * (before_ns + CASE WHEN is_off THEN edge.t - off_edge.t ELSE 0 END))::BIGINT AS off_ns
    FROM (
        SELECT piece_id, tid, s AS t, -1 AS sign FROM piece UNION ALL SELECT piece_id, tid, e, 1 FROM piece
    ) AS edge ASOF JOIN off_edge ON off_edge.tid = edge.tid AND edge.t >= off_edge.t GROUP BY piece_id
), judged AS (
    SELECT count(*) > 0 AS told FROM selected_idle(2000, NULL)
    WHERE tid IN (SELECT DISTINCT global_tid FROM sched_event)
), lost AS MATERIALIZED (
    SELECT piece.*, off_ns FROM piece JOIN at_edge USING (piece_id) WHERE off_ns > 0
), total AS (
    SELECT coalesce(sum(off_ns), 0)::BIGINT AS off_ns, count(*) AS times, max(off_ns) AS longest_ns FROM lost
), main AS (
    SELECT tid FROM lost GROUP BY tid ORDER BY sum(off_ns) DESC, tid LIMIT 1
), place AS (
    SELECT pattern FROM lost JOIN idle_pattern USING (pre) GROUP BY pattern
    ORDER BY sum(off_ns) DESC, pattern LIMIT 1
), shown AS (
    SELECT off_ns, s, {
            'name': coalesce(path, 'Outside all ranges'), 'note': thread_label(tid), 'ns': off_ns, 'start_ns': s,
            'end_ns': e, 'device': device_id, 'range': path
        } AS piece
    FROM (FROM lost ORDER BY off_ns DESC, s, device_id LIMIT 10) AS lost
    LEFT JOIN (SELECT pre, path_id FROM range) USING (pre) LEFT JOIN range_path USING (path_id)
)
SELECT CASE WHEN told THEN 100.0 * total.off_ns / nullif(finding_window.ns, 0) END AS value,
    CASE WHEN NOT told THEN 'The capture has no switches of the threads that launch.' END AS unjudged,
    total.off_ns AS saving_ns, total.off_ns, times, longest_ns, (SELECT thread_label(tid) FROM main) AS thread,
    (SELECT pattern FROM place) AS range, (SELECT list(piece ORDER BY off_ns DESC, s) FROM shown) AS evidence
FROM finding_window CROSS JOIN total CROSS JOIN judged;
