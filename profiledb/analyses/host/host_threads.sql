-- title: Threads of the host
-- Activity of each thread in the selected time: CUDA calls, OS calls and CPU samples, and from scheduling data its time
-- on a core, blocked in a call (off the core, inside a CUDA or OS call), or waiting otherwise (off the core outside
-- traced calls: for a core, for a page, or in an untraced call). A thread whose first event takes it off a core ran
-- before; one whose last event puts it on a core runs to the end of the scheduling data. Threads without any of these
-- are left out.
-- page: host
-- show: thread 130, name 170, role 110, samples, idle_samples, running_ns, blocked_ns, waiting_ns, switches
-- show: cuda_ns, os_ns, os_calls, os_function 150, loading_ns
-- prefetch: part
-- needs: cpu_sample or sched_event or osrt_call or api_call
-- includes: selection, host, memory, waiting
-- selects: part
-- once: functions, paths
-- param: limit = 200 at most this many rows
-- column: thread | text | | process and thread id
-- column: name | text | | name of the thread, if any
-- column: role | text | | launches: launches GPU work; data loading: from its ranges or name; profiler: belongs to nsys
-- column: samples = CPU samples | count | | samples in which it was running
-- column: idle_samples = Samples in gaps | count | | samples while no GPU was busy, between the first and last operation
-- column: running_ns | ns | | time on a core
-- column: blocked_ns = Blocked in calls | ns | | time off the core, inside a CUDA or OS call
-- column: waiting_ns = Waiting otherwise | ns | | time off the core, outside traced calls
-- column: switches | count | | number of times it was taken off a core
-- column: cuda_ns = CUDA calls | ns | | sum of its CUDA call durations
-- column: os_calls = OS calls | count | | number of OS calls
-- column: os_ns = OS calls | ns | | sum of its OS call durations
-- column: os_function = Longest in | text | | OS function with most of this time
-- column: loading_ns = Data loading | ns | | time in ranges whose names say that input is read or prepared
WITH event AS MATERIALIZED (
    SELECT global_tid AS tid, time_ns AS t, bool_or(scheduled_in) AS on_core FROM sched_event GROUP BY ALL
), edge AS (SELECT min(t) AS low, max(t) AS high FROM event
), core AS (  -- on a core from s to e
    SELECT tid, t AS s, coalesce(lead(t) OVER (PARTITION BY tid ORDER BY t), CASE WHEN on_core THEN high ELSE t END)
        AS e, on_core
    FROM event CROSS JOIN edge
    UNION ALL
    SELECT tid, low, min(t), true FROM event CROSS JOIN edge GROUP BY tid, low HAVING NOT arg_min(on_core, t)
), call AS (
    SELECT global_tid AS tid, start_ns AS s, end_ns AS e FROM api_call
    WHERE global_tid IN (SELECT tid FROM event) AND end_ns > start_ns
    UNION ALL
    SELECT global_tid, start_ns, end_ns FROM osrt_call
    WHERE event_class = 27 AND global_tid IN (SELECT tid FROM event) AND end_ns > start_ns
), step AS (  -- state changes of a thread: its core, its open calls, whether the time is selected
    SELECT tid, s AS t, CASE WHEN on_core THEN 1 ELSE 0 END AS run, CASE WHEN on_core THEN 0 ELSE 1 END AS off,
        0 AS calls, 0 AS inside FROM core WHERE e > s
    UNION ALL SELECT tid, e, CASE WHEN on_core THEN -1 ELSE 0 END, CASE WHEN on_core THEN 0 ELSE -1 END, 0, 0
    FROM core WHERE e > s
    UNION ALL SELECT tid, s, 0, 0, 1, 0 FROM call UNION ALL SELECT tid, e, 0, 0, -1, 0 FROM call
    UNION ALL SELECT tid, start_ns, 0, 0, 0, 1 FROM selected_host_window CROSS JOIN (SELECT DISTINCT tid FROM event)
    UNION ALL SELECT tid, end_ns, 0, 0, 0, -1 FROM selected_host_window CROSS JOIN (SELECT DISTINCT tid FROM event)
), state AS (
    SELECT tid, (lead(t) OVER (PARTITION BY tid ORDER BY t) - t)::HUGEINT AS ns, sum(sum(run)) OVER until_here AS run,
        sum(sum(off)) OVER until_here AS off, sum(sum(calls)) OVER until_here AS calls,
        sum(sum(inside)) OVER until_here AS inside
    FROM step GROUP BY tid, t WINDOW until_here AS (PARTITION BY tid ORDER BY t)
), scheduled AS (
    SELECT tid, coalesce(sum(ns) FILTER (run > 0), 0)::BIGINT AS running_ns,
        coalesce(sum(ns) FILTER (off > 0 AND calls > 0), 0)::BIGINT AS blocked_ns,
        coalesce(sum(ns) FILTER (off > 0 AND calls = 0), 0)::BIGINT AS waiting_ns
    FROM state WHERE inside > 0 AND has_rows('sched_event') GROUP BY tid
), switched AS (
    SELECT tid, count(*) AS switches FROM event ASOF JOIN selected_host_window AS part ON t >= part.start_ns
    WHERE t < part.end_ns AND NOT on_core AND has_rows('sched_event') GROUP BY tid
), sampled AS (
    SELECT global_tid AS tid, count(*) AS samples, count(*) FILTER (idle) AS idle_samples
    FROM selected_host_sample WHERE source = 'cpu' AND has_rows('cpu_sample') GROUP BY tid
), cuda AS (
    SELECT global_tid AS tid, sum(end_ns - start_ns)::BIGINT AS cuda_ns,
        count(*) FILTER (category = 'launch') AS launches
    FROM selected_api_call LEFT JOIN api_function USING (name_id) GROUP BY tid
), function AS (
    SELECT global_tid AS tid, name_id, count(*) AS calls, sum(end_ns - start_ns)::BIGINT AS ns
    FROM selected_osrt_call WHERE event_class = 27 GROUP BY ALL
), os AS (
    SELECT tid, sum(calls)::BIGINT AS os_calls, sum(ns)::BIGINT AS os_ns, arg_max(value, (ns, value)) AS os_function
    FROM function LEFT JOIN string ON string_id = name_id GROUP BY tid
), loading AS (  -- outermost data-loading ranges
    SELECT global_tid AS tid, start_ns AS s, end_ns AS e, max(end_ns) OVER (
            PARTITION BY global_tid ORDER BY start_ns, end_ns DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS reached_ns
    FROM selected_range WHERE path_id IN (SELECT path_id FROM path_pattern WHERE is_loading(pattern))
), loaded AS (
    SELECT tid, sum(greatest(0, e - greatest(s, coalesce(reached_ns, s))))::BIGINT AS loading_ns
    FROM loading GROUP BY tid
), there AS (
    SELECT tid FROM scheduled UNION SELECT tid FROM sampled UNION SELECT tid FROM cuda UNION SELECT tid FROM os
    UNION SELECT tid FROM loaded
)
SELECT thread_label(tid) AS thread, name, CASE WHEN cuda.launches > 0 THEN 'launches'
        WHEN loading_ns > 0 THEN 'data loading' ELSE role END AS role,
    CASE WHEN has_rows('cpu_sample') THEN coalesce(samples, 0) END AS samples,
    CASE WHEN has_rows('cpu_sample') THEN coalesce(idle_samples, 0) END AS idle_samples,
    running_ns, blocked_ns, waiting_ns,
    CASE WHEN scheduled.tid IS NOT NULL THEN coalesce(switches, 0) END AS switches,
    cuda_ns, os_calls, os_ns, os_function, loading_ns
FROM there LEFT JOIN scheduled USING (tid) LEFT JOIN switched USING (tid) LEFT JOIN sampled USING (tid)
LEFT JOIN cuda USING (tid) LEFT JOIN os USING (tid) LEFT JOIN loaded USING (tid)
LEFT JOIN host_thread ON global_tid = tid
ORDER BY coalesce(samples, 0) DESC, coalesce(running_ns, 0) DESC, coalesce(cuda_ns, 0) DESC, coalesce(os_ns, 0) DESC,
    thread
LIMIT $limit::BIGINT;
