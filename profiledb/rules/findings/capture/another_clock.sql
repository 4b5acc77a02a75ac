-- title: Operations outside the capture
-- question: Do operations lie outside of the time that the capture states?
-- The share of the busy time of GPUs that lies neither between the begin and the end that the report states nor,
-- counted from 0, within its length, as with a capture range. Clocks of GPU and host then do not fit, or the file was
-- put together: gaps between calls and what they launched mean nothing. The selection does not change it.
-- needs: kernel or memop or graph_launch
-- unit: %
-- fires: above
-- weight: warning
-- param: threshold = 1 share of the busy time from which on it is said
-- column: outside_ns | ns | | busy time outside
-- column: stated_ns | ns | | length that the report states
-- says: {value} of the busy time ({outside_ns}) lies outside the {stated_ns} that the capture states: the clocks of GPU and CPU do not fit.
-- clear: The operations lie within the time that the capture states.
-- advice: Capture once more with one version of nsys on host and target; convert with the version that captured. Do not compare times of CPU and GPU in this report.
-- source: own; `capture_window` tells how the time of a report is found
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
