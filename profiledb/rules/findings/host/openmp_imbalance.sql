-- title: OpenMP threads wait for each other
-- question: Do OpenMP regions share their work unevenly among threads?
-- The share of the time of parallel regions that even work would save: in each region the work of the thread that works
-- longest, less the mean over its threads. The value is 0 if the regions take less than `least` percent of the capture.
-- `openmp_regions` lists both per region.
-- needs: openmp_event
-- includes: finding, idle, openmp
-- selects: part
-- unit: %
-- fires: above
-- param: threshold = 10 fires at or above this share of the time of the regions
-- param: least = 5 regions must take at least this share of the capture, percent
-- column: lost_ns | ns | | excess of the longest work over the mean, summed over the regions
-- column: regions | count | | OpenMP regions in the selection
-- column: region | name | | range around the regions that lose most, or their name
-- column: imbalance | ratio | .2f | longest work over the mean in that place
-- column: lock_pct | % | .1f | time waiting for locks as a share of the work of all threads
-- says: OpenMP threads wait for each other during {value} of their time in {regions} {regions|region|regions} ({lost_ns}), mostly in {region}: the slowest thread works {imbalance} times as long as the mean.
-- clear: OpenMP threads lose {value} of the time of their {regions} {regions|region|regions} to uneven work.
-- advice: Distribute the iterations of {region} as threads become free: `schedule(dynamic)` or `schedule(guided)`, with chunks of some microseconds; for nested loops `collapse(2)`.
-- advice: If one thread creates work for the others, use `taskloop`, or more and smaller tasks.
-- advice: More threads than cores always finish late: set `OMP_NUM_THREADS` to the cores of the process, and `OMP_PROC_BIND=close`.
-- source: POP methodology (load balance: mean over longest work, below 80 % is poor); 10 % of the time: ours
WITH shared AS MATERIALIZED (
    SELECT one.*, coalesce(pattern, string.value) AS place
    FROM selected_openmp_shared AS one
    LEFT JOIN string ON string_id = one.name_id
    LEFT JOIN range AS around ON around.pre = one.thread_range
    LEFT JOIN path_pattern USING (path_id)
), total AS (
    SELECT count(*) AS regions, sum(wall_ns)::BIGINT AS wall_ns, sum(lost_ns)::BIGINT AS lost_ns,
        100.0 * sum(lock_ns) / nullif(sum(work_ns), 0) AS lock_pct
    FROM shared
), main AS (
    SELECT place, sum(most_ns) / nullif(sum(work_ns / threads), 0) AS imbalance FROM shared
    GROUP BY place ORDER BY sum(lost_ns) DESC NULLS LAST, place LIMIT 1
), shown AS (
    SELECT lost_ns, start_ns, {
            'name': place, 'note': 'thread ' || thread_label(last_tid) || ' works longest', 'ns': lost_ns,
            'start_ns': start_ns, 'end_ns': end_ns
        } AS piece
    FROM shared WHERE lost_ns > 0 ORDER BY lost_ns DESC, start_ns LIMIT 10
)
SELECT CASE WHEN 100.0 * wall_ns >= $least::DOUBLE * coalesce(capture_window.duration_ns, 0)
        THEN 100.0 * lost_ns / nullif(wall_ns, 0) WHEN lost_ns IS NOT NULL THEN 0 END AS value,
    CASE WHEN regions = 0 THEN 'No OpenMP region begins in the selection.'
        ELSE 'The capture does not tell which threads worked in the OpenMP regions.' END AS unjudged,
    lost_ns AS saving_ns, lost_ns, regions, lock_pct, main.place AS region, main.imbalance,
    (SELECT list(piece ORDER BY lost_ns DESC, start_ns) FROM shown) AS evidence
FROM total CROSS JOIN capture_window LEFT JOIN main ON true;
