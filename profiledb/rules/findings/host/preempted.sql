-- title: Launching thread off its core between calls
-- question: Does the GPU wait while the thread that feeds it is kept off its core?
-- The share of each GPU's active span (first to last operation) that it is idle while the thread that has yet to launch
-- the next operation is off its core for at least `least_ns` at a time, outside all CUDA and OS calls. A thread that
-- waits by choice is in such a call, so this one most likely lacks a core. nsys records no thread states that would
-- prove it; page reads from disk and untraced calls look the same. If other threads of the process run for at least
-- half of that time, but not on the core that it left, it most likely waits for them in an untraced lock, which does
-- not count. If it returns to the same core, with file calls right before and after, at most 1 ms away on one side, it
-- most likely waits for the file system in an untraced call. Such times add up separately, and the value is the larger
-- sum. Before its first and after its last switch a thread counts as running.
-- needs: kernel or memop or graph_launch
-- needs: sched_event
-- needs: osrt_call
-- includes: finding, idle, waiting
-- selects: part
-- once: span, functions, idle
-- parts: host code
-- unit: %
-- fires: above
-- param: threshold = 2 fires at or above this share of the active span
-- param: least_ns = 1000000 shorter times off the core do not count
-- column: off_ns | ns | | idle time of all GPUs while the thread is off its core
-- column: times | count | | number of these times
-- column: longest_ns | ns | | longest of these times, if there are several
-- column: thread | text | | process and thread id of the thread
-- column: call | name | | file call before or after most of this time, if it lies between such calls
-- column: range | name | | range with most of this time; * stands for its last number
-- says: The GPU waits {value} of the time ({off_ns}) because its launching thread leaves its core {times} {times|time|times}, for up to {longest_ns}, between file calls such as {call}. It most likely waits for the file system.
-- says: The GPU waits {value} of the time ({off_ns}) because its launching thread leaves its core {times} {times|time|times}, for up to {longest_ns}, mostly in {range}. It most likely has to share its core.
-- says: The GPU waits {value} of the time ({off_ns}) because its launching thread leaves its core {times} {times|time|times}, for up to {longest_ns}. It most likely has to share its core.
-- says: The GPU waits {value} of the time ({off_ns}) because its launching thread leaves its core once, between file calls such as {call}. It most likely waits for the file system.
-- says: The GPU waits {value} of the time ({off_ns}) because its launching thread leaves its core once, mostly in {range}. It most likely has to share its core.
-- says: The GPU waits {value} of the time ({off_ns}) because its launching thread leaves its core once. It most likely has to share its core.
-- clear: The GPU waits {value} of the time for a thread that is off its core outside all traced calls.
-- advice: [file] Write and read files in another thread or process, so that the GPU keeps working; fewer and larger writes wait less.
-- advice: [core] Give the process more cores: a larger CPU quota of the container, `taskset` or `numactl` for a set of its own, fewer programs on the machine.
-- advice: [core, Trainer] Start fewer threads than there are cores: `OMP_NUM_THREADS`, `dataloader_num_workers` of each rank.
-- advice: [core, else, PyTorch] Start fewer threads than there are cores: `OMP_NUM_THREADS`, `torch.set_num_threads`, the workers of each rank's loader.
-- advice: [core, else] Start fewer threads than there are cores: `OMP_NUM_THREADS`.
-- source: nsys-ai book (a runnable thread waits over 1 ms for a core); calls instead of thread states, and threshold: ours
WITH piece AS MATERIALIZED (
    SELECT row_number() OVER () AS piece_id, device_id, tid, s, e, pre FROM selected_idle(2000, NULL)
    WHERE reason = 'host code' AND tid IN (SELECT DISTINCT global_tid FROM sched_event)
), core AS MATERIALIZED (
    SELECT tid, t, on_core, (lead(t) OVER (PARTITION BY tid ORDER BY t) - t)::HUGEINT AS ns FROM finding_core()
), away AS MATERIALIZED (
    SELECT tid, t, (t + ns)::BIGINT AS back
    FROM core WHERE NOT on_core AND ns BETWEEN $least_ns::BIGINT AND 2305843009213693952
), function AS (
    SELECT string_id AS name_id, function_name(value) AS name, CASE
        WHEN regexp_matches(name, '^_*(IO_)?(f?open(at)?|creat|f?close|p?(read|write)v?|f?(read|write|flush|truncate'
                || '|puts?|printf)|f(data)?sync|f?l?seek|fcntl|flock|(posix_)?fallocate|sendfile)(64|2)*$') THEN 'file'
        WHEN regexp_matches(name, '^(mmap|munmap|msync|ioctl)(64)?$') THEN 'either' END AS kind
    FROM string WHERE string_id IN (SELECT DISTINCT name_id FROM osrt_call)
), call AS MATERIALIZED (
    SELECT global_tid AS tid, start_ns, end_ns, name, kind FROM osrt_call JOIN function USING (name_id)
    WHERE event_class = 27 AND global_tid IN (SELECT tid FROM away)
), switch AS (
    SELECT global_tid AS tid, time_ns AS t, cpu, lead(cpu) OVER (PARTITION BY global_tid ORDER BY time_ns) AS next_cpu
    FROM sched_event
), filed AS (
    SELECT away.tid, away.t, any_value(CASE earlier.kind WHEN 'file' THEN earlier.name ELSE later.name END) AS call
    FROM away ASOF JOIN call AS earlier ON earlier.tid = away.tid AND earlier.start_ns <= away.t
    ASOF JOIN call AS later ON later.tid = away.tid AND later.start_ns >= away.back
    JOIN switch ON switch.tid = away.tid AND switch.t = away.t
    WHERE earlier.kind IS NOT NULL AND later.kind IS NOT NULL AND 'file' IN (earlier.kind, later.kind)
        AND least(away.t - earlier.end_ns, later.start_ns - away.back) <= 1000000 AND cpu = next_cpu
    GROUP BY ALL
), run AS (  -- a thread on a core
    SELECT pid_of(global_tid) AS pid, cpu, time_ns AS a, scheduled_in, lead(time_ns) OVER (
            PARTITION BY global_tid ORDER BY time_ns, scheduled_in
        ) AS b
    FROM sched_event WHERE pid_of(global_tid) IN (SELECT pid_of(tid) FROM away)
), moment AS (  -- per core, and over all cores (-1)
    SELECT pid, unnest([cpu, -1]) AS cpu, t, d
    FROM (SELECT pid, cpu, unnest([a, b]) AS t, unnest([1, -1]) AS d FROM run WHERE scheduled_in AND b IS NOT NULL)
), level AS (  -- number of threads that run from then on, and their total time before
    SELECT pid, cpu, t, n, sum(n * dt) OVER one - n * dt AS before_ns
    FROM (
        SELECT *, sum(d) OVER one AS n, coalesce(lead(t) OVER one - t, 0) AS dt
        FROM (SELECT pid, cpu, t, sum(d) AS d FROM moment GROUP BY ALL) WINDOW one AS (PARTITION BY pid, cpu ORDER BY t)
    ) WINDOW one AS (PARTITION BY pid, cpu ORDER BY t)
), beside AS (
    SELECT away.tid, away.t, back, pid_of(away.tid) AS pid, unnest([cpu, -1]) AS cpu
    FROM away JOIN switch ON switch.tid = away.tid AND switch.t = away.t
), ran AS (
    SELECT beside.tid, beside.t, beside.cpu, any_value(back - beside.t) AS ns,
        sum(sign * (before_ns + n * (x - level.t))) AS ran_ns
    FROM (SELECT *, unnest([t, back]) AS x, unnest([-1, 1]) AS sign FROM beside) AS beside
    ASOF JOIN level ON level.pid = beside.pid AND level.cpu = beside.cpu AND beside.x >= level.t
    GROUP BY ALL
), waiting AS (
    SELECT tid, t FROM ran GROUP BY ALL
    HAVING 2 * max(ran_ns) FILTER (cpu < 0) >= max(ns)
        AND 2 * coalesce(max(ran_ns) FILTER (cpu >= 0), 0) < max(ns)
), off_edge AS MATERIALIZED (  -- time that a thread was off its core before, by reason, and whether it is now
    SELECT tid, core.t, reason, away.t IS NOT NULL AND coalesce(
            reason = CASE WHEN call IS NOT NULL THEN 'file' WHEN waiting.t IS NULL THEN 'core' END, false
        ) AS is_off, call,
        coalesce(sum(CASE WHEN is_off THEN ns ELSE 0 END) OVER (
                PARTITION BY tid, reason ORDER BY core.t ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ), 0) AS before_ns
    FROM core CROSS JOIN (SELECT unnest(['core', 'file']) AS reason) LEFT JOIN away USING (tid, t)
    LEFT JOIN filed USING (tid, t) LEFT JOIN waiting USING (tid, t)
), at_edge AS (  -- time at the end of each piece, less at its start
    SELECT piece_id, edge.reason, sum(sign * (before_ns + CASE WHEN is_off THEN edge.t - off_edge.t ELSE 0 END))::BIGINT
            AS off_ns
    FROM (
        SELECT piece_id, tid, reason, t, sign
        FROM (SELECT piece_id, tid, s AS t, -1 AS sign FROM piece UNION ALL SELECT piece_id, tid, e, 1 FROM piece)
        CROSS JOIN (SELECT unnest(['core', 'file']) AS reason)
    ) AS edge
    ASOF JOIN off_edge ON off_edge.tid = edge.tid AND off_edge.reason = edge.reason AND edge.t >= off_edge.t
    GROUP BY ALL
), judged AS (
    SELECT count(*) > 0 AS has_switches FROM selected_idle(2000, NULL)
    WHERE tid IN (SELECT DISTINCT global_tid FROM sched_event)
), cause AS (
    SELECT reason FROM at_edge GROUP BY reason ORDER BY sum(off_ns) DESC, reason LIMIT 1
), lost AS MATERIALIZED (
    SELECT piece.*, off_ns FROM piece JOIN at_edge USING (piece_id)
    WHERE off_ns > 0 AND reason = (SELECT reason FROM cause)
), total AS (
    SELECT coalesce(sum(off_ns), 0)::BIGINT AS off_ns, count(*) AS times, max(off_ns) AS longest_ns FROM lost
), file AS (  -- the file call beside most of it
    SELECT call FROM filed JOIN away USING (tid, t) JOIN lost ON lost.tid = away.tid AND away.t < e AND back > s
    GROUP BY call ORDER BY sum(back - away.t) DESC, call LIMIT 1
), main AS (
    SELECT tid FROM lost GROUP BY tid ORDER BY sum(off_ns) DESC, tid LIMIT 1
), place AS (
    SELECT pattern FROM lost LEFT JOIN idle_pattern USING (pre) GROUP BY pattern
    ORDER BY sum(off_ns) DESC, pattern LIMIT 1
), shown AS (
    SELECT off_ns, s, {
            'name': coalesce(path, 'Outside all ranges'), 'note': thread_label(tid), 'ns': off_ns, 'start_ns': s,
            'end_ns': e, 'device': device_id, 'range': path
        } AS piece
    FROM (FROM lost ORDER BY off_ns DESC, s, device_id LIMIT 10) AS lost
    LEFT JOIN (SELECT pre, path_id FROM range) USING (pre) LEFT JOIN range_path USING (path_id)
)
SELECT CASE WHEN has_switches THEN 100.0 * total.off_ns / nullif(finding_window.ns, 0) END AS value,
    CASE WHEN NOT has_switches THEN 'The capture has no switches of the threads that launch.' END AS unjudged,
    total.off_ns AS saving_ns, total.off_ns, times,
    CASE WHEN times > 1 THEN longest_ns END AS longest_ns, (SELECT thread_label(tid) FROM main) AS thread,
    (SELECT pattern FROM place) AS range, (SELECT reason FROM cause) AS cause,
    CASE WHEN (SELECT reason FROM cause) = 'file' THEN (SELECT call FROM file) END AS call,
    (SELECT list(piece ORDER BY off_ns DESC, s) FROM shown) AS evidence
FROM finding_window CROSS JOIN total CROSS JOIN judged;
