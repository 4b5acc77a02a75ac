-- title: OpenMP regions
-- OpenMP parallel regions by name and enclosing range, and the balance of work between their threads. The time of a
-- region is from its start to its end on the thread that opened it. A thread works while it runs a task of the region,
-- the implicit one included, and waits neither in a barrier nor for a lock; it is late for the rest of the time,
-- outside any task. Nested regions count in both rows.
-- page: host
-- show: range 180, region 125, wall_ns, work_pct bar 110, wait_pct bar 110, imbalance, lost_ns, regions, threads
-- show: mean_ns, share_pct, barrier_ns, lock_ns, late_ns
-- prefetch: part
-- needs: openmp_event
-- includes: selection, idle, openmp
-- selects: part
-- param: limit = 200 at most this many rows
-- column: region | text | | name of the region in the OpenMP runtime
-- column: range | text | | innermost range around it, with a star for each number that counts
-- column: regions | count | | number of times the region ran
-- column: wall_ns = Wall time | ns | | sum of the times of the regions
-- column: mean_ns = Mean | ns | .1f | mean time of a region
-- column: share_pct = Of capture | % | .1f | wall time as a share of the capture
-- column: threads | count | | maximum number of threads of a region
-- column: work_ns = Work | ns | | in tasks of the region, sum over its threads
-- column: barrier_ns = In barriers | ns | | in barriers, task waits and task groups, sum over its threads
-- column: lock_ns = For locks | ns | | waiting for a lock or critical section, sum over its threads
-- column: late_ns = Late | ns | | before a thread starts its part of the region or after it, sum over its threads
-- column: work_pct = Working | % | .1f | work as a share of wall time times threads
-- column: wait_pct = Waiting | % | .1f | barriers, locks and late time, as a share of wall time times threads
-- column: imbalance | ratio | .2f | work of the busiest thread over the mean, weighted by the mean; 1 is even
-- column: lost_ns = Lost to imbalance | ns | | work of the busiest thread less the mean, sum over the regions
WITH shared AS (
    SELECT one.*, string.value AS region, pattern AS range, wall_ns::HUGEINT * threads AS team_ns
    FROM selected_openmp_shared AS one
    LEFT JOIN string ON string_id = one.name_id
    LEFT JOIN range AS around ON around.pre = one.thread_range
    LEFT JOIN path_pattern USING (path_id)
), summary AS (
    SELECT region, range, count(*) AS regions, sum(wall_ns)::BIGINT AS wall_ns, max(threads) AS threads,
        sum(work_ns)::BIGINT AS work_ns, sum(barrier_ns)::BIGINT AS barrier_ns, sum(lock_ns)::BIGINT AS lock_ns,
        sum(team_ns) AS team_ns, sum(most_ns) / nullif(sum(work_ns / threads), 0) AS imbalance,
        sum(lost_ns)::BIGINT AS lost_ns
    FROM shared GROUP BY region, range
)
SELECT region, range, regions, wall_ns, wall_ns / regions AS mean_ns,
    100.0 * wall_ns / nullif(capture_window.duration_ns, 0) AS share_pct, threads, work_ns, barrier_ns,
    lock_ns, (team_ns - work_ns - barrier_ns - lock_ns)::BIGINT AS late_ns,
    100.0 * work_ns / nullif(team_ns, 0) AS work_pct, 100.0 * (team_ns - work_ns) / nullif(team_ns, 0) AS wait_pct,
    imbalance, lost_ns
FROM summary CROSS JOIN capture_window
ORDER BY wall_ns DESC, region, summary.range LIMIT $limit::BIGINT;
