-- title: Many threads on few cores
-- question: Does the GPU wait for threads that share too few cores?
-- The share of each GPU's active span (first to last operation) that it is idle while the CPU works, if at least
-- `least_ratio` threads per core work meanwhile and keep these cores at least `busy_pct` percent busy: a limit
-- (`taskset`, a CPU quota) confines them, or the machine has too few cores. The thread count is the square of the sum
-- of their times over the sum of the squares: n equal threads count as n, those that hardly run as none. Cores count in
-- the same way, so threads with a core each, long or short, are as many as their cores. The saving is the part of this
-- time that as many cores as threads would save, within the number of cores of the machine. A capture without switches
-- of threads shows too few cores by OS calls that never wait, such as pthread_cond_signal: they take microseconds,
-- unless their thread loses its core meanwhile. If at least `least_calls` of the process, and `held_pct` percent of
-- them, take 1 ms or more, all this time counts; else such a capture cannot be judged. A call does not count if another
-- thread goes on with CUDA calls within that 1 ms: it woke that thread and left its core to it, as autograd does at the
-- end of a backward pass.
-- needs: kernel or memop or graph_launch
-- needs: sched_event or osrt_call
-- includes: finding, idle, memory
-- selects: part
-- once: span, functions, idle
-- parts: host code, OS runtime call
-- unit: %
-- fires: above
-- param: threshold = 5 fires at or above this share of the active span
-- param: least_ratio = 2 fewest threads per core
-- param: busy_pct = 80 these threads keep the cores busy for at least this share of the time, percent
-- param: least_calls = 10 fewest calls that never wait from which they tell whether threads lose their cores
-- param: held_pct = 25 share of these calls that must take 1 ms or more, percent
-- column: idle_ns | ns | | time that all GPUs wait for these threads
-- column: threads | count | | working threads, counted as above
-- column: cores | count | | cores that they run on
-- column: busy_pct | % | .0f | share of the time that these threads keep the cores busy
-- column: range | name | | range with most of this time; * stands for its last number
-- column: calls | count | | calls that never wait, without switches of threads
-- column: held | count | | those of them that take 1 ms or more
-- column: call | name | | the function with most of these
-- says: The GPU waits {value} of the time ({idle_ns}) for a CPU with too few cores, mostly in {range}: {held} of {calls} calls that never wait, such as {call}, take 1 ms or more, so threads lose their cores in them.
-- says: The GPU waits {value} of the time ({idle_ns}) for a CPU with too few cores: {held} of {calls} calls that never wait, such as {call}, take 1 ms or more, so threads lose their cores in them.
-- says: The GPU waits {value} of the time ({idle_ns}) for {threads} {threads|thread|threads} that share {cores} {cores|core|cores}, mostly in {range}: {cores|this core is|these cores are} {busy_pct} busy.
-- says: The GPU waits {value} of the time ({idle_ns}) for {threads} {threads|thread|threads} that share {cores} {cores|core|cores}: {cores|this core is|these cores are} {busy_pct} busy.
-- clear: The GPU waits {value} of the time for threads that share few cores.
-- advice: Give the process more cores: check `taskset -p`, `numactl`, the CPU request of the container or job (`--cpus`, `--cpus-per-task`), and any affinity that a library sets (`OMP_PROC_BIND`, `os.sched_setaffinity`).
-- advice: [PyTorch] If there are no more cores, use fewer threads (`OMP_NUM_THREADS`, `torch.set_num_threads`, `num_workers`), or move this work to the GPU.
-- advice: [not PyTorch] If there are no more cores, use fewer threads (`OMP_NUM_THREADS`), or move this work to the GPU.
-- source: ours; effective number after Kish (design effect of weights); of 70 captures with such calls the median of their 90th percentiles is 7 µs, the largest 18 µs, and that of sixteen threads on two cores 21,500 µs
SELECT CASE WHEN NOT EXISTS (FROM selected_idle(2000, NULL)) THEN 0::DOUBLE END AS value,
    'The capture has no switches of the threads that launch.' AS unjudged, 0 AS saving_ns, false AS is_cause,
    NULL AS idle_ns, NULL AS threads, NULL AS cores, NULL AS busy_pct, NULL AS range, NULL AS calls, NULL AS held,
    NULL AS call, NULL AS evidence
FROM finding_window
WHERE ns > 0 AND $least_calls::BIGINT > 0 AND $held_pct::DOUBLE > 0 AND (
        NOT EXISTS (FROM selected_idle(2000, NULL) WHERE reason IN ('host code', 'OS runtime call'))
        OR NOT has_rows('sched_event') AND NOT EXISTS (
            FROM selected_osrt_call JOIN string ON string_id = name_id
            WHERE end_ns - start_ns >= 1000000 AND regexp_matches(value, '^(pthread|sem_post)')
        )
    );

WITH waiting AS MATERIALIZED (
    SELECT *, tid IN (SELECT DISTINCT global_tid FROM sched_event) AS switches FROM selected_idle(2000, NULL)
    WHERE reason IN ('host code', 'OS runtime call')
), piece AS MATERIALIZED (
    SELECT device_id, s, e, ns, pre, coalesce(sum(ns) OVER (
            PARTITION BY device_id ORDER BY s ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), 0)::BIGINT AS before_ns
    FROM waiting WHERE switches OR NOT has_rows('sched_event')
), wake_call AS MATERIALIZED (
    SELECT function_name(value) AS name, end_ns - start_ns >= 1000000 AS held, start_ns, global_tid
    FROM selected_osrt_call JOIN string ON string_id = name_id
    WHERE NOT has_rows('sched_event') AND pid_of(global_tid) IN (SELECT pid_of(tid) FROM waiting)
        AND regexp_matches(
            value, '^(pthread_cond_(signal|broadcast)|sem_post|pthread_(mutex|rwlock|spin)_unlock)$'
        )
), other AS (
    SELECT wake_call.start_ns, wake_call.global_tid, api.tid
    FROM wake_call JOIN (SELECT DISTINCT global_tid AS tid FROM api_call) AS api
        ON pid_of(api.tid) = pid_of(wake_call.global_tid) AND api.tid <> wake_call.global_tid
    WHERE held
), woken AS (  -- calls whose core another thread took over
    SELECT other.start_ns, other.global_tid FROM other
    ASOF JOIN api_call AS api ON api.global_tid = other.tid AND api.start_ns >= other.start_ns
    WHERE api.start_ns < other.start_ns + 1000000
), quick AS (FROM wake_call ANTI JOIN woken USING (start_ns, global_tid)
), called AS MATERIALIZED (
    SELECT count(*) AS calls, count_if(held) AS held, (
            SELECT name FROM quick WHERE held GROUP BY name ORDER BY count(*) DESC, name LIMIT 1
        ) AS call
    FROM quick HAVING count(*) >= $least_calls::BIGINT AND 100 * count_if(held) >= $held_pct::DOUBLE * count(*)
), run AS (  -- a thread on a core
    SELECT global_tid, cpu, time_ns AS a, lead(time_ns) OVER (
            PARTITION BY global_tid ORDER BY time_ns, scheduled_in
        ) AS b, scheduled_in
    FROM sched_event
), edge AS (
    SELECT device_id, global_tid, cpu, a AS t, -1 AS sign FROM run CROSS JOIN (SELECT DISTINCT device_id FROM piece)
    WHERE scheduled_in AND b IS NOT NULL
    UNION ALL
    SELECT device_id, global_tid, cpu, b, 1 FROM run CROSS JOIN (SELECT DISTINCT device_id FROM piece)
    WHERE scheduled_in AND b IS NOT NULL
), worked AS MATERIALIZED (
    SELECT edge.device_id, global_tid, cpu, sum(sign * (before_ns + least(t, e) - s))::BIGINT AS ns
    FROM edge ASOF JOIN piece ON piece.device_id = edge.device_id AND edge.t >= piece.s
    GROUP BY edge.device_id, global_tid, cpu
), by_thread AS (
    SELECT device_id, sum(ns) ^ 2 / nullif(sum(ns::DOUBLE ^ 2), 0) AS threads
    FROM (SELECT device_id, global_tid, sum(ns)::DOUBLE AS ns FROM worked GROUP BY ALL) GROUP BY device_id
), by_core AS (
    SELECT device_id, sum(ns) ^ 2 / nullif(sum(ns::DOUBLE ^ 2), 0) AS cores, sum(ns) AS ns
    FROM (SELECT device_id, cpu, sum(ns)::DOUBLE AS ns FROM worked GROUP BY ALL) GROUP BY device_id
), idle AS (
    SELECT device_id, sum(ns)::BIGINT AS ns FROM piece GROUP BY device_id
), gpu_idle AS MATERIALIZED (
    SELECT device_id, idle.ns, threads, cores, 100.0 * by_core.ns / cores / idle.ns AS busy_pct,
        threads >= $least_ratio::DOUBLE * cores AND 100.0 * by_core.ns / cores / idle.ns >= $busy_pct::DOUBLE AS few
    FROM idle JOIN by_thread USING (device_id) JOIN by_core USING (device_id)
    UNION ALL SELECT device_id, ns, NULL, NULL, NULL, true FROM idle CROSS JOIN called
), there AS (  -- cores of the machine
    SELECT max(TRY_CAST(value AS INTEGER)) AS cores FROM system_info WHERE name = 'CpuCores'
), total AS (
    SELECT coalesce(sum(ns) FILTER (few), 0)::BIGINT AS ns,
        coalesce(sum(ns * (1 - coalesce(gpu_idle.cores / least(threads, there.cores), 0))) FILTER (few), 0)::BIGINT
            AS saving_ns,
        arg_max(threads, ns) FILTER (few) AS threads, arg_max(gpu_idle.cores, ns) FILTER (few) AS cores,
        arg_max(busy_pct, ns) FILTER (few) AS busy_pct
    FROM gpu_idle CROSS JOIN there
), place AS (
    SELECT pattern FROM piece SEMI JOIN (FROM gpu_idle WHERE few) USING (device_id) LEFT JOIN idle_pattern USING (pre)
    GROUP BY pattern ORDER BY sum(ns) DESC, pattern LIMIT 1
), shown AS (
    SELECT ns, s, {
            'name': coalesce(path, 'Outside all ranges'), 'ns': ns, 'start_ns': s, 'end_ns': e, 'device': device_id,
            'range': path
        } AS piece
    FROM (
        SELECT * FROM piece SEMI JOIN (FROM gpu_idle WHERE few) USING (device_id) ORDER BY ns DESC, s LIMIT 10
    ) AS piece
    LEFT JOIN (SELECT pre, path_id FROM range) USING (pre) LEFT JOIN range_path USING (path_id)
)
SELECT CASE WHEN (SELECT bool_or(switches) FROM waiting) OR called.calls > 0
        OR NOT EXISTS (FROM selected_idle(2000, NULL))
        THEN 100.0 * total.ns / nullif(finding_window.ns, 0) END AS value,
    'The capture has no switches of the threads that launch.' AS unjudged, saving_ns, total.ns > 0 AS is_cause,
    nullif(total.ns, 0) AS idle_ns,
    round(threads)::BIGINT AS threads, round(cores)::BIGINT AS cores, busy_pct, (SELECT pattern FROM place) AS range,
    calls, held, call,
    (SELECT list(piece ORDER BY ns DESC, s) FROM shown) AS evidence
FROM finding_window CROSS JOIN total LEFT JOIN called ON true;
