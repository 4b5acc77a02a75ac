-- title: Copies and kernels take turns
-- question: Could copies run while kernels run?
-- A GPU copies in both directions and computes at the same time where streams and pinned memory allow it. The value is
-- what that could save at most: the time in which copies to or from the host, or kernels, run, less the longest of the
-- three (copies in, copies out, kernels) alone, as a share of the time from the first to the last operation of each
-- GPU. It is 0 where at least `hidden` of the copy time runs beside kernels already, and where copies in follow kernels
-- fewer than 3 times, because one copy before all kernels and one after them have nothing to run beside. That steps or
-- chunks do not need each other's results is assumed: a bound, no promise.
-- needs: kernel
-- needs: memop
-- includes: finding, selection
-- selects: part
-- unit: %
-- fires: above
-- param: threshold = 5 share of the time from which on overlap is worth it
-- param: hidden = 50 share of the copy time beside kernels from which on copies count as overlapped
-- column: overlap_pct | % | .1f | share of the copy time in which a kernel ran
-- column: copy_ns | ns | | time in which copies to or from the host ran
-- column: kernel_ns | ns | | time in which kernels ran
-- column: alone_ns | ns | | time in which copies and no kernel ran
-- says: Copies and kernels take turns: {overlap_pct} of {copy_ns} of copies run beside kernels ({kernel_ns}). Overlapping them would save up to {value} of the time.
-- clear: Overlapping copies and kernels would save up to {value} of the time; {overlap_pct} of the copy time runs beside kernels.
-- clear: No copy to or from the host runs.
-- advice: Copy on a stream of its own from pinned memory: `pin_memory=True`, `with torch.cuda.stream(copy_stream): x = x.to(device, non_blocking=True)`, then `compute_stream.wait_stream(copy_stream)`.
-- advice: In CUDA: split the work into chunks, one stream each: `cudaMemcpyAsync(..., stream)` from `cudaHostAlloc` memory, kernel, copy back.
-- source: TL gpu timeline (exposed_memcpy > 5 %); NAI overlap analysis; bound and turns own
WITH edge AS (
    SELECT device_id, start_ns AS t, 1 AS k, 0 AS h, 0 AS d FROM selected_kernel
    UNION ALL SELECT device_id, end_ns, -1, 0, 0 FROM selected_kernel
    UNION ALL SELECT device_id, start_ns, 0, (copy_kind IN (1, 3))::INTEGER, (copy_kind IN (2, 4))::INTEGER
    FROM selected_memop WHERE kind = 'memcpy' AND copy_kind IN (1, 2, 3, 4)
    UNION ALL SELECT device_id, end_ns, 0, -(copy_kind IN (1, 3))::INTEGER, -(copy_kind IN (2, 4))::INTEGER
    FROM selected_memop WHERE kind = 'memcpy' AND copy_kind IN (1, 2, 3, 4)
), summed AS (
    SELECT device_id, t, sum(k) AS k, sum(h) AS h, sum(d) AS d FROM edge GROUP BY device_id, t
), level AS (
    SELECT device_id, lead(t) OVER upto - t AS ns, sum(k) OVER upto AS k, sum(h) OVER upto AS h, sum(d) OVER upto AS d
    FROM summed WINDOW upto AS (PARTITION BY device_id ORDER BY t)
), by_gpu AS (
    SELECT device_id, coalesce(sum(ns) FILTER (k > 0), 0) AS k, coalesce(sum(ns) FILTER (h > 0), 0) AS h,
        coalesce(sum(ns) FILTER (d > 0), 0) AS d, coalesce(sum(ns) FILTER (h + d > 0), 0) AS copies,
        coalesce(sum(ns) FILTER (h + d > 0 AND k > 0), 0) AS shared_ns,
        coalesce(sum(ns) FILTER (h + d + k > 0), 0) AS every
    FROM level GROUP BY device_id
), turn AS (  -- copies in that are the first ones after kernels
    SELECT device_id, count(*) FILTER (is_copy AND NOT before) AS turns
    FROM (
        SELECT device_id, is_copy, lag(is_copy) OVER (PARTITION BY device_id ORDER BY start_ns, is_copy) AS before
        FROM (
            SELECT device_id, start_ns, false AS is_copy FROM selected_kernel
            UNION ALL SELECT device_id, start_ns, true FROM selected_memop
            WHERE kind = 'memcpy' AND copy_kind IN (1, 3)
        )
    ) GROUP BY device_id
), total AS (
    SELECT sum(k)::BIGINT AS kernel_ns, nullif(sum(copies), 0)::BIGINT AS copy_ns,
        (sum(copies) - sum(shared_ns))::BIGINT AS alone_ns,
        100.0 * sum(shared_ns) / nullif(sum(copies), 0) AS overlap_pct,
        sum(CASE WHEN turns >= 3 AND 100 * shared_ns < $hidden::DOUBLE * copies
                THEN every - greatest(k, h, d) ELSE 0 END)::BIGINT AS ns
    FROM by_gpu JOIN turn USING (device_id)
), shown AS (
    SELECT end_ns - start_ns AS ns, {
            'name': operation, 'ns': end_ns - start_ns, 'bytes': bytes, 'start_ns': start_ns, 'end_ns': end_ns,
            'device': device_id, 'stream': stream_id
        } AS piece
    FROM selected_memop WHERE kind = 'memcpy' AND copy_kind IN (1, 2, 3, 4) ORDER BY ns DESC, start_ns LIMIT 10
)
SELECT 100.0 * total.ns / nullif(finding_window.ns, 0) AS value, total.ns AS saving_ns, overlap_pct, copy_ns, kernel_ns,
    alone_ns, (SELECT list(piece ORDER BY ns DESC) FROM shown) AS evidence
FROM finding_window CROSS JOIN total;
