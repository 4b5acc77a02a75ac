-- Operators of the selection with their times and work.
-- includes: operator, operator_model

-- GPU work of operators: one row per operator, except those that their parent of the same name only wraps. `device_ns`
-- counts its launches and nested ones, `device_self_ns` excludes those of nested operators.
CREATE OR REPLACE VIEW selected_operator AS
WITH own AS MATERIALIZED (FROM operator_own), launched AS MATERIALIZED (
    SELECT pre, ns, sum(ns) OVER (ORDER BY pre) AS until_here FROM selected_launched
), self AS (
    SELECT top_id AS range_id, sum(launched.ns) AS device_self_ns
    FROM launched JOIN range USING (pre) LEFT JOIN operator_passed(false) USING (range_id)
    JOIN own ON own.range_id = coalesce(around_id, range.range_id)
    GROUP BY top_id
), host AS (
    SELECT top_id AS range_id, sum(self_ns) AS host_self_ns
    FROM own WHERE is_operator GROUP BY top_id
), reach AS (
    SELECT own.range_id, own.pre, own.post, name_id, start_ns, end_ns, host_ns, coalesce(until_here, 0) AS until_end
    FROM (FROM own WHERE is_operator AND top_id = range_id) AS own
    ASOF LEFT JOIN launched ON own.post >= launched.pre
), span AS (
    SELECT reach.* EXCLUDE (until_end), until_end - coalesce(until_here, 0) AS device_ns
    FROM reach ASOF LEFT JOIN launched ON reach.pre > launched.pre
), work AS (
    SELECT top_id AS range_id, sum(flops) AS flops, bool_or(traced) AS traced, sum(bytes) AS bytes,
        any_value(precision) AS precision
    FROM operator_instance_work JOIN own USING (range_id) GROUP BY top_id
), selected AS (SELECT range_id, true AS is_kept FROM selected_range)
SELECT range_id, pre, post, name_id, dims_id, types_id, coalesce(is_kept, false) AS is_kept, start_ns, end_ns, host_ns,
    host_self_ns, device_ns, coalesce(device_self_ns, 0) AS device_self_ns, work.flops, traced, bytes, precision
FROM span JOIN host USING (range_id) LEFT JOIN self USING (range_id) LEFT JOIN work USING (range_id)
LEFT JOIN operator USING (range_id) LEFT JOIN selected USING (range_id)
WHERE is_kept OR device_ns > 0;
