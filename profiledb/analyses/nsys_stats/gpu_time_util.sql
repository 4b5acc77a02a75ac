-- title: GPU time utilization
-- Times of low GPU use by a process, lowest use first, as `nsys analyze -r
-- gpu_time_util:threshold=PERCENT:chunks=NUMBER:rows=-1` prints them. The time from the first to the last kernel, copy
-- or memset of a process on a GPU is cut into chunks of equal length, the last one ends with the last operation;
-- adjacent chunks below the threshold share a row, with the mean weighted by length. Concurrent operations all count,
-- so use can exceed 100 % and hide idle time: gpu_busy has the union, which counts each moment once. Profiler flushes
-- count as use, recognized by the three names that nsys 2023.4 uses. Whole CUDA graphs, and Vulkan, OpenGL and Direct3D
-- 12 workloads, do not count.
-- needs: kernel or memop
-- includes: nsys
-- selects: part
-- param: threshold = 50 lists chunks with a use below this, percent
-- param: chunks = 30 number of chunks, 1 to 1000
-- column: Row# | count | | rank of the row
-- column: In-Use (%) | % | .1f | sum of operation times as a share of the length
-- column: Duration (ns) | ns | | length of the chunks of this row
-- column: Start (ns) | ns | | start of the first chunk
-- column: PID | text | | process id
-- column: Device ID | text | | number of the GPU
-- column: Context ID | text | | CUDA context of the last operation of this process on this GPU
WITH span AS (
    SELECT pid, device_id, min(start_ns) AS low, max(end_ns) AS high,
        ceil((high - low)::DOUBLE / CASE WHEN $chunks::BIGINT BETWEEN 1 AND 1000 THEN $chunks::BIGINT
            ELSE error('chunks is a number from 1 to 1000') END)::BIGINT AS size
    FROM selected_operation GROUP BY pid, device_id HAVING high > low
), work AS (
    SELECT pid, device_id, start_ns, end_ns FROM selected_operation
    UNION ALL  -- a flush halts every GPU of its process; one that extends beyond the operations is left out as a whole
    SELECT pid, device_id, start_ns, end_ns
    FROM profiler_flush JOIN span USING (pid) WHERE start_ns > low AND end_ns < high
), placed AS (  -- few groups for any number of operations; times from the first operation keep the sums short
    SELECT pid, device_id, size, (start_ns - low) // size AS first_chunk, (end_ns - 1 - low) // size AS last_chunk,
        count(*)::HUGEINT AS num, sum(start_ns - low) AS starts, sum(end_ns - low) AS ends
    FROM work JOIN span USING (pid, device_id)
    WHERE end_ns > start_ns
    GROUP BY ALL
), used AS (  -- between its first and last chunk an operation fills each chunk
    SELECT pid, device_id, chunk, sum(
            CASE chunk WHEN last_chunk THEN ends ELSE num * (chunk + 1) * size END
            - CASE chunk WHEN first_chunk THEN starts ELSE num * chunk * size END
        )::BIGINT AS used_ns
    FROM (SELECT *, unnest(generate_series(first_chunk, last_chunk)) AS chunk FROM placed)
    GROUP BY pid, device_id, chunk
), idle AS (
    SELECT pid, device_id, chunk, low + chunk * size AS start_ns, least(low + (chunk + 1) * size, high) AS end_ns,
        coalesce(used_ns, 0)::DOUBLE / (end_ns - start_ns) * 100 AS pct,
        chunk - row_number() OVER (PARTITION BY pid, device_id ORDER BY chunk) AS run
    FROM (SELECT *, unnest(generate_series(0, $chunks::BIGINT - 1)) AS chunk FROM span)
    LEFT JOIN used USING (pid, device_id, chunk)
    WHERE start_ns < end_ns AND pct < $threshold::DOUBLE
), merged AS (
    SELECT pid, device_id, run, min(start_ns) AS start_ns, max(end_ns) - min(start_ns) AS duration,
        nsys_round(sum((end_ns - start_ns) * pct ORDER BY chunk) / sum(end_ns - start_ns)::BIGINT) AS pct
    FROM idle GROUP BY pid, device_id, run
), context AS (
    SELECT pid, device_id, arg_min(context_id, (source, id)) AS context_id
    FROM selected_operation JOIN span USING (pid, device_id) WHERE end_ns = high GROUP BY pid, device_id
)
SELECT row_number() OVER (ORDER BY pct, duration, run, device_id, pid) AS "Row#", pct AS "In-Use (%)",
    duration AS "Duration (ns)", start_ns AS "Start (ns)", pid AS "PID", device_id AS "Device ID",
    context_id AS "Context ID"
FROM merged JOIN context USING (pid, device_id)
ORDER BY "Row#";
