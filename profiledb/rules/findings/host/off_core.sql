-- title: Launching thread off its core
-- question: Does the GPU wait while the thread that feeds it does not run?
-- The share of each GPU's active span (first to last operation) that it is idle while the thread that has yet to launch
-- the next operation runs on no core: it sleeps, waits for a lock, a thread or a file, or other threads have the core.
-- The rule judges only threads whose switches were captured.
-- needs: kernel or memop or graph_launch
-- needs: sched_event
-- includes: finding, idle, waiting
-- selects: part
-- once: span, functions, idle
-- parts: idle
-- level: symptom
-- unit: %
-- fires: above
-- param: threshold = 5 fires at or above this share of the active span
-- column: off_ns | ns | | idle time of all GPUs while the thread runs on no core
-- column: idle_pct | % | .1f | this time as a share of the idle time attributed to these threads
-- column: function | name | | OS call with more than half of this time, if any
-- column: range | name | | range with most of this time; * stands for its last number
-- says: The GPU waits {value} of the time ({off_ns}) while the thread that feeds it is off its core, mostly in {function}.
-- says: The GPU waits {value} of the time ({off_ns}) while the thread that feeds it is off its core, mostly in {range}.
-- says: The GPU waits {value} of the time ({off_ns}) while the thread that feeds it is off its core.
-- clear: The GPU waits {value} of the time while the thread that feeds it is off its core.
-- advice: [no calls, not HIP] Capture OS runtime calls, too (`--trace=cuda,nvtx,osrt`): they show what the thread waits for.
-- advice: [calls] Open Host to see which OS runtime calls the thread waits in, and move them out of {place|the loop}.
-- advice: For locks and condition variables, let another thread do the work ahead of time; for files, read ahead.
-- advice: If the thread only lost its core, give the process more cores (CPU quota, `taskset`), and match `OMP_NUM_THREADS` and the number of workers to the machine.
-- source: ours (idea: nsys-ai book, scheduling; its threshold of 10 % of the idle time is 5 % of all time here)
WITH piece AS MATERIALIZED (FROM finding_idle_core()
), total AS (
    SELECT sum(ns - core_ns)::BIGINT AS off_ns, sum(ns) AS ns FROM piece
), main AS (
    SELECT function FROM piece WHERE reason = 'OS runtime call' GROUP BY function
    HAVING 2 * sum(ns - core_ns) > (SELECT off_ns FROM total) ORDER BY sum(ns - core_ns) DESC, function LIMIT 1
), place AS (
    SELECT pattern FROM piece LEFT JOIN idle_pattern USING (pre) GROUP BY pattern
    ORDER BY sum(ns - core_ns) DESC, pattern LIMIT 1
), shown AS (
    SELECT ns - core_ns AS off_ns, s, {
            'name': coalesce(function, path, 'Outside all ranges'),
            'note': replace(reason, 'host code', 'non-CUDA code'), 'ns': ns - core_ns, 'start_ns': s, 'end_ns': e,
            'device': device_id, 'range': path
        } AS piece
    FROM (
        SELECT * REPLACE (replace(reason, 'host code', 'non-CUDA code') AS reason) FROM piece
        WHERE ns > core_ns ORDER BY ns - core_ns DESC, s LIMIT 10
    ) AS piece
    LEFT JOIN (SELECT pre, path_id FROM range) USING (pre) LEFT JOIN range_path USING (path_id)
)
SELECT 100.0 * off_ns / nullif(finding_window.ns, 0) AS value, off_ns AS saving_ns, off_ns,
    CASE WHEN off_ns IS NULL THEN 'The capture has no switches of the threads that launch.' END AS unjudged,
    CASE WHEN has_rows('osrt_call') THEN 'calls' ELSE 'no calls' END AS cause,
    100.0 * off_ns / nullif(total.ns, 0) AS idle_pct, (SELECT function FROM main) AS function,
    (SELECT pattern FROM place) AS range, (SELECT list(piece ORDER BY off_ns DESC, s) FROM shown) AS evidence
FROM finding_window CROSS JOIN total;
