-- title: GPU gaps
-- Times in which a GPU was idle for a process, longest first, as `nsys analyze -r gpu_gaps:gap=MS:rows=-1` prints them:
-- gaps in the union of kernels, memcpy and memset operations of each process on each GPU, between its first and last
-- operation. A gap counts if it is longer than the threshold. Profiler flushes are not gaps, because no change of the
-- program would fill them; they are recognized by the three names that nsys 2023.4 uses. Whole CUDA graphs, and Vulkan,
-- OpenGL and Direct3D 12 workloads, do not count as work.
-- needs: kernel or memop
-- includes: nsys
-- selects: part
-- param: gap_ms = 500 lists longer gaps, milliseconds
-- column: Row# | count | | rank of the gap
-- column: Duration (ns) | ns | | length of the gap
-- column: Start (ns) | ns | | start of the gap
-- column: PID | text | | process id
-- column: Device ID | text | | number of the GPU
-- column: Context ID | text | | CUDA context of the operation before the gap
WITH span AS (
    SELECT pid, device_id, min(start_ns) AS low, max(end_ns) AS high FROM selected_operation GROUP BY pid, device_id
), flush AS (  -- halts every GPU of its process; a flush that extends beyond the operations is left out as a whole
    SELECT pid, device_id, start_ns, end_ns, low, high
    FROM profiler_flush JOIN span USING (pid) WHERE start_ns > low AND end_ns < high
), work AS (
    SELECT * FROM selected_operation
    UNION ALL  -- nsys gives a flush the context of the last operation
    SELECT flush.pid, flush.device_id, flush.start_ns, flush.end_ns,
        arg_min(context_id, (source, id)), 0, row_number() OVER ()
    FROM flush JOIN selected_operation AS operation
        ON operation.pid = flush.pid AND operation.device_id = flush.device_id AND operation.end_ns = high
    GROUP BY flush.pid, flush.device_id, flush.start_ns, flush.end_ns
), bin AS (  -- as wide as the threshold, so that a longer gap ends at the first start in a bin: avoids a full sort
    SELECT pid, device_id, start_ns // floor(greatest($gap_ms::DOUBLE * 1e6, 1))::BIGINT AS bin,
        min(start_ns) AS start_ns, max(end_ns) AS end_ns
    FROM work GROUP BY ALL
), reached AS (
    SELECT pid, device_id, start_ns, max(end_ns) OVER (
            PARTITION BY pid, device_id ORDER BY bin ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS before_ns
    FROM bin
), gap AS (
    SELECT pid, device_id, before_ns, start_ns - before_ns AS duration
    FROM reached WHERE start_ns > before_ns AND start_ns - before_ns > $gap_ms::DOUBLE * 1e6
), named AS (  -- a second lookup, so that the bins need not carry the context
    SELECT gap.*, (
            SELECT arg_max(context_id, (source, id)) FROM work
            WHERE (work.pid, work.device_id, work.end_ns) = (gap.pid, gap.device_id, before_ns)
        ) AS context_id
    FROM gap
)
SELECT row_number() OVER (ORDER BY duration DESC, before_ns, pid, device_id) AS "Row#", duration AS "Duration (ns)",
    before_ns AS "Start (ns)", pid AS "PID", device_id AS "Device ID", context_id AS "Context ID"
FROM named
ORDER BY "Row#";
