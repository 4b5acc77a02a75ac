-- Building blocks for OpenMP: parallel regions, and the activity of each of their threads.
-- includes: selection

-- Parallel regions of all processes, one row each. If a region runs explicit tasks, nsys may write it several times,
-- first with the end of the session: it ends at the first end of an event of it after its last start.
CREATE OR REPLACE VIEW openmp_region AS
WITH piece AS (
    SELECT *, global_tid // 16777216 AS process,
        max(start_ns) OVER (PARTITION BY global_tid // 16777216, parallel_id) AS last_ns
    FROM openmp_event WHERE kind = 'parallel' AND parallel_id > 0
), whole AS (
    SELECT process, parallel_id, min(end_ns) FILTER (end_ns >= last_ns) AS end_ns,
        arg_min({id: event_id, tid: global_tid, s: start_ns, name: name_id, pre: thread_range}, (start_ns, event_id))
            AS opened
    FROM piece GROUP BY ALL
)
SELECT process, parallel_id, opened.id AS region_id, opened.tid AS global_tid, opened.s AS start_ns, end_ns,
    opened.name AS name_id, opened.pre AS thread_range
FROM whole;

-- Whole regions that start in the selection.
CREATE OR REPLACE VIEW selected_openmp_region AS
FROM openmp_region WHERE region_id IN (SELECT event_id FROM selected_openmp_event WHERE kind = 'parallel');

-- Activity of each thread in these regions: `work_ns` in its tasks, and within their time `barrier_ns` in barriers,
-- task waits and task groups (the time of a reduction is work), `lock_ns` for locks and critical sections. Threads of a
-- region ran a task of it or waited in it. Time after its end does not count: threads wait for the next region there.
CREATE OR REPLACE VIEW selected_openmp_thread AS
WITH region AS MATERIALIZED (FROM selected_openmp_region
), owner AS (  -- a lock knows the task that waits, not its region
    SELECT global_tid // 16777216 AS process, task_id, min(parallel_id) AS parallel_id
    FROM openmp_event WHERE kind = 'task' AND parallel_id > 0 GROUP BY ALL
), event AS (
    SELECT global_tid // 16777216 AS process, parallel_id, global_tid, start_ns, end_ns,
        (kind = 'task')::INTEGER AS task, (kind <> 'task')::INTEGER AS barrier, 0 AS lock
    FROM openmp_event
    WHERE kind = 'task' OR (kind IN ('sync_region', 'sync_region_wait') AND detail IS DISTINCT FROM 7)
    UNION ALL
    SELECT owner.process, owner.parallel_id, global_tid, start_ns, end_ns, 0, 0, 1
    FROM openmp_event JOIN owner
        ON owner.task_id = openmp_event.task_id AND owner.process = openmp_event.global_tid // 16777216
    WHERE kind = 'mutex_wait'
), inside AS (
    SELECT region_id, event.global_tid, greatest(event.start_ns, region.start_ns) AS s,
        least(event.end_ns, region.end_ns) AS e, task, barrier, lock
    FROM event JOIN region USING (process, parallel_id)
    WHERE event.end_ns > region.start_ns AND event.start_ns < region.end_ns
), edge AS (
    SELECT region_id, global_tid, s AS t, task, barrier, lock FROM inside
    UNION ALL SELECT region_id, global_tid, e, -task, -barrier, -lock FROM inside
), state AS (
    SELECT region_id, global_tid, (lead(t) OVER (PARTITION BY region_id, global_tid ORDER BY t) - t)::HUGEINT AS ns,
        sum(sum(task)) OVER until_here AS task, sum(sum(barrier)) OVER until_here AS barrier,
        sum(sum(lock)) OVER until_here AS lock
    FROM edge GROUP BY region_id, global_tid, t
    WINDOW until_here AS (PARTITION BY region_id, global_tid ORDER BY t)
)
SELECT region_id, global_tid,
    coalesce(sum(ns) FILTER (task > 0 AND barrier = 0 AND lock = 0), 0)::BIGINT AS work_ns,
    coalesce(sum(ns) FILTER (barrier > 0), 0)::BIGINT AS barrier_ns,
    coalesce(sum(ns) FILTER (barrier = 0 AND lock > 0), 0)::BIGINT AS lock_ns
FROM state GROUP BY region_id, global_tid;

-- The same regions with the totals of their threads: `most_ns` is the work of the busiest thread, `lost_ns` its excess
-- over an equal share. All are NULL if nothing is known of the threads.
CREATE OR REPLACE VIEW selected_openmp_shared AS
SELECT region.*, region.end_ns - region.start_ns AS wall_ns, threads, work_ns, barrier_ns, lock_ns, most_ns, last_tid,
    most_ns - work_ns // threads AS lost_ns
FROM selected_openmp_region AS region LEFT JOIN (
    SELECT region_id, count(*) AS threads, sum(work_ns)::BIGINT AS work_ns, sum(barrier_ns)::BIGINT AS barrier_ns,
        sum(lock_ns)::BIGINT AS lock_ns, max(work_ns) AS most_ns, arg_max(global_tid, (work_ns, global_tid)) AS last_tid
    FROM selected_openmp_thread GROUP BY region_id
) USING (region_id);
