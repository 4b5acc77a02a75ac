-- title: GPU busy time over the capture
-- The capture in bins of equal width, or of a part of it the time from its first to its last operation, and which part
-- of each bin a GPU worked (union of kernels, copies, memsets and whole graphs). GPUs that the program did not use have
-- no rows. Of a selection its own work counts.
-- page: summary
-- prefetch: part
-- prefetch: steady
-- needs: kernel or memop or graph_launch
-- includes: selection
-- selects: part
-- once: busy
-- param: bins = 200 cuts the time into this many bins
-- column: gpu_id | id | | number of the GPU
-- column: bin | count | | number of the bin, from 0
-- column: start_ns | ns | | start of the bin, from the start of the capture
-- column: end_ns | ns | | end of the bin, from the start of the capture
-- column: busy_ns | ns | | time in the bin in which an operation ran
-- column: busy_pct | % | .1f | busy time as a share of the bin
WITH busy AS MATERIALIZED (FROM selected_busy
), capture_window_of_all AS (
    SELECT start_ns, end_ns FROM capture_window
    WHERE duration_ns = (SELECT sum(end_ns - start_ns) FROM selected_window)
), frame AS (
    SELECT min(start_ns) AS low, max(end_ns) - low AS duration_ns,
        greatest(1, ceil(duration_ns / $bins::INTEGER))::BIGINT AS width
    FROM (
        SELECT start_ns, end_ns FROM selected_active
        UNION ALL SELECT min(start_ns), max(end_ns) FROM busy
        UNION ALL FROM capture_window_of_all
    )
), interval AS (
    SELECT device_id, start_ns - low AS a, end_ns - low AS b, a // width AS first_bin, (b - 1) // width AS last_bin,
        width
    FROM busy CROSS JOIN frame WHERE end_ns > start_ns
), part AS (
    SELECT device_id, first_bin AS bin, b - a AS busy_ns FROM interval WHERE first_bin = last_bin
    UNION ALL
    SELECT device_id, bin, least(b, (bin + 1) * width) - greatest(a, bin * width)
    FROM (
        SELECT *, unnest(range(first_bin, last_bin + 1)) AS bin FROM interval WHERE first_bin <> last_bin
    )
), total AS (
    SELECT device_id, bin, sum(busy_ns)::BIGINT AS busy_ns FROM part GROUP BY device_id, bin
), grid AS (
    SELECT device_id, bin, low - start_ns + bin * width AS start_ns,
        low - start_ns + least((bin + 1) * width, duration_ns) AS end_ns
    FROM (SELECT DISTINCT device_id FROM busy) CROSS JOIN frame
        CROSS JOIN (SELECT start_ns FROM capture_window)
        CROSS JOIN (SELECT unnest(range($bins::INTEGER)) AS bin)
    WHERE bin * width < duration_ns
)
SELECT device_id AS gpu_id, bin, start_ns, end_ns, coalesce(busy_ns, 0) AS busy_ns,
    100.0 * coalesce(busy_ns, 0) / (end_ns - start_ns) AS busy_pct
FROM grid LEFT JOIN total USING (device_id, bin)
ORDER BY gpu_id, bin;
