-- title: GPU idle time by range
-- Position in the program while a GPU was idle: for each gap (`idle_gaps`) the ranges open on the thread that launched
-- the next operation, or on the thread that drives it. A range includes its nested ranges; `self_ns` excludes them.
-- Ranges whose paths differ only in the last number of a name (step_0, step_1) share a row. Gaps shorter than `min_ns`
-- and gaps without a known launch are left out.
-- page: idle
-- show: range 320, share_pct bar 120, idle_ns, self_ns, reason 160, gaps, longest_ns
-- prefetch: part
-- prefetch: steady
-- needs: kernel or memop or graph_launch
-- needs: range
-- includes: idle
-- selects: part
-- once: functions, idle
-- param: min_ns = 2000 leaves out shorter gaps
-- column: range | text | | path of the range, with a star for the last number of a name; empty: outside all ranges
-- column: level | count | | number of enclosing ranges
-- column: idle_ns | ns | | idle time while the range was open
-- column: share_pct | % | .1f | share of the idle time, that of shorter gaps included
-- column: self_ns | ns | | idle time in this range outside its nested ranges
-- column: reason = CPU activity during gap | text | | activity of the thread for most of this time
-- column: gaps | count | | gaps in which the range was open
-- column: longest_ns = Longest gap | ns | | duration of the longest of these gaps
WITH RECURSIVE idle AS MATERIALIZED (FROM selected_idle($min_ns::BIGINT, NULL)
), spent AS MATERIALIZED (
    SELECT coalesce(path_id, 0) AS path_id, reason, gap_id, any_value(duration_ns) AS duration_ns, sum(ns)::BIGINT AS ns
    FROM idle LEFT JOIN range USING (pre) GROUP BY ALL
), above AS (
    SELECT DISTINCT path_id, path_id AS up FROM spent
    UNION ALL
    SELECT above.path_id, parent_id FROM above JOIN range_path ON range_path.path_id = up WHERE parent_id IS NOT NULL
), place AS MATERIALIZED (
    SELECT above.path_id, above.path_id = up AS own, pattern AS range, coalesce(level, 0) AS level
    FROM above LEFT JOIN path_pattern ON path_pattern.path_id = up
), by_reason AS MATERIALIZED (
    SELECT range, level, reason, sum(ns)::BIGINT AS ns, coalesce(sum(ns) FILTER (own), 0)::BIGINT AS self_ns
    FROM (SELECT path_id, reason, sum(ns) AS ns FROM spent GROUP BY ALL) JOIN place USING (path_id) GROUP BY ALL
), total AS (
    SELECT range, level, sum(ns)::BIGINT AS idle_ns, sum(self_ns)::BIGINT AS self_ns,
        arg_max(reason, (ns, reason)) AS reason
    FROM by_reason GROUP BY range, level
), counted AS (
    SELECT range, level, count(*) AS gaps, max(duration_ns) AS longest_ns
    FROM (
        SELECT DISTINCT range, level, gap_id, duration_ns
        FROM (SELECT DISTINCT path_id, gap_id, duration_ns FROM spent) JOIN place USING (path_id)
    )
    GROUP BY range, level
), whole AS (
    SELECT long_ns + short_ns AS ns FROM (SELECT coalesce(sum(ns), 0) AS long_ns FROM idle) CROSS JOIN (
        SELECT coalesce(sum(b - a), 0) AS short_ns FROM selected_hole(1) WHERE b - a < $min_ns::BIGINT
    )
)
SELECT total.range, total.level, idle_ns, 100.0 * idle_ns / whole.ns AS share_pct, self_ns, reason, gaps,
    longest_ns
FROM total JOIN counted ON counted.range IS NOT DISTINCT FROM total.range AND counted.level = total.level
CROSS JOIN whole
ORDER BY idle_ns DESC, total.level, total.range;
