-- title: Operations outside the capture
-- question: Do operations lie outside the time of the capture?
-- The share of the GPUs' busy time that lies neither between the start and the end stated in the report nor, counted
-- from 0, within its length, as with a capture range. The clocks of GPU and CPU then disagree, or the file was pieced
-- together: gaps between calls and their operations mean nothing. The selection does not matter.
-- needs: kernel or memop or graph_launch
-- unit: %
-- fires: above
-- weight: warning
-- param: threshold = 1 fires at or above this share of the busy time
-- column: outside_ns | ns | | busy time outside the capture
-- column: stated_ns | ns | | capture length stated in the report
-- says: {value} of the busy time ({outside_ns}) lies outside the {stated_ns} of the capture: the clocks of GPU and CPU disagree.
-- clear: All operations lie within the capture.
-- advice: Capture again with the same nsys version on host and target, and convert with it. Do not compare CPU times with GPU times in this report.
-- source: ours; `capture_window` documents how the time of a report is found
WITH stated AS (
    SELECT start_ns AS low, stop_ns AS high, coalesce(duration_ns, stop_ns - start_ns) AS length_ns FROM report
), inside AS (
    SELECT sum(end_ns - start_ns) AS all_ns,
        sum(greatest(0, least(end_ns, high) - greatest(start_ns, low))) AS in_stated,
        sum(greatest(0, least(end_ns, length_ns) - greatest(start_ns, 0))) AS from_zero,
        any_value(length_ns) AS length_ns
    FROM busy CROSS JOIN stated
)
SELECT CASE WHEN length_ns IS NOT NULL
        THEN 100.0 * (all_ns - greatest(in_stated, from_zero)) / nullif(all_ns, 0) END AS value,
    'The report does not state when the capture began and ended.' AS unjudged,
    (all_ns - greatest(in_stated, from_zero))::BIGINT AS outside_ns, length_ns AS stated_ns
FROM inside;
