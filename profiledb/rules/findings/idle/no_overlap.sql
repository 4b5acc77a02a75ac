-- title: Copies without overlap
-- question: Could copies run while kernels run?
-- The most that overlap could save, as a share of the active span (first to last operation of each GPU): the time in
-- which kernels or copies between CPU and GPU run, less the longest of the three (copies in, copies out, kernels). With
-- streams and pinned memory, a GPU copies in both directions and computes at the same time. The value is 0 if at least
-- `hidden` percent of the copy time already overlaps kernels, or if copies in follow kernels fewer than 3 times: one
-- copy before all kernels and one after them have nothing to overlap. It is a bound: it assumes that steps or chunks do
-- not need each other's results. If overlapping kernels saves less than half of it, the rest comes from the two
-- directions. The cause is `much input` if copies to the GPU take at least half as long as kernels: smaller ones would
-- do as well, and leave the link to others.
-- needs: kernel or graph_launch
-- needs: memop
-- includes: finding, work
-- selects: part
-- once: span, compute
-- parts: copies
-- unit: %
-- fires: above
-- param: threshold = 5 fires at or above this share of the active span
-- param: hidden = 50 copies count as overlapped if at least this share of their time overlaps kernels, percent
-- column: overlap_pct | % | .1f | share of the copy time in which a kernel runs
-- column: copy_ns | ns | | time in which copies between CPU and GPU run
-- column: kernel_ns | ns | | time in which kernels run
-- column: alone_ns | ns | | time in which copies but no kernel run
-- column: in_ns | ns | | time of copies to the GPU, if overlapping both directions saves more than overlapping kernels
-- column: out_ns | ns | | time of copies to the CPU, likewise
-- says: Copies to the GPU ({in_ns}), copies to the host ({out_ns}) and kernels ({kernel_ns}) take turns; most of the saving lies between the two directions.
-- says: Copies and kernels take turns: {overlap_pct} of the copy time ({copy_ns}) overlaps kernels ({kernel_ns}).
-- clear: Overlapping copies and kernels would save up to {value} of the time; {overlap_pct} of the copy time overlaps kernels.
-- clear: The program copies nothing to or from the host.
-- advice: [pinned memory, PyTorch] Copy on a stream of its own: `with torch.cuda.stream(copy_stream): x = x.to(device, non_blocking=True)`, then `compute_stream.wait_stream(copy_stream)`. The memory is pinned already.
-- advice: [else, PyTorch] Copy on a stream of its own, from pinned memory: `pin_memory=True`, `with torch.cuda.stream(copy_stream): x = x.to(device, non_blocking=True)`, then `compute_stream.wait_stream(copy_stream)`.
-- advice: [else, JAX or XLA] Put the next batch on the GPU while a step runs: `jax.device_put` of batch N + 1 before you read results of batch N.
-- advice: [else, CuPy, pinned memory] Copy each part on a stream of its own: `with stream:` around `array.set(part)`, the kernel and `array.get(out=part)`.
-- advice: [else, CuPy] Copy each part on a stream of its own, from pinned memory: `host = cupyx.empty_pinned(shape, dtype)`, `with stream:` around `array.set(host)`, the kernel and `array.get(out=host)`.
-- advice: [else, Numba, pinned memory] Copy each part on a stream of its own: `cuda.to_device(part, stream=stream)`, `kernel[blocks, threads, stream](...)`, `copy_to_host(part, stream=stream)`.
-- advice: [else, Numba] Copy each part on a stream of its own, from pinned memory: `cuda.pinned_array(shape, dtype)`, `cuda.to_device(part, stream=stream)`, `kernel[blocks, threads, stream](...)`.
-- advice: [else, OpenACC] Work in blocks, each on a queue of its own: `update device(part) async(q)`, `parallel async(q)`, `update self(part) async(q)`.
-- advice: [else, OpenMP offload] Work in blocks: `target update to(part) nowait depend(...)`, then the region and the copy back with the same dependence.
-- advice: [else, pinned memory] Split the work into chunks, one stream each: `cudaMemcpyAsync(..., stream)`, kernel, copy back.
-- advice: [else] Split the work into chunks, one stream each: `cudaMemcpyAsync(..., stream)` from pinned memory (`cudaMallocHost`), kernel, copy back.
-- advice: [much input] Or copy less: what stays the same stays on the GPU, and the rest goes there in its smallest form (pairs instead of a dense matrix, integers of 8 bits, encoded images), which the GPU unpacks.
-- change: overlapped_copies
-- source: TraceLens GPU timeline (exposed_memcpy > 5 %); nsys-ai overlap analysis; bound and turns: ours
WITH copy AS MATERIALIZED (
    SELECT device_id, start_ns, end_ns, copy_kind IN (1, 3) AS is_in FROM selected_memop
    WHERE kind = 'memcpy' AND copy_kind IN (1, 2, 3, 4) AND end_ns > start_ns
), compute AS MATERIALIZED (  -- stretches that do not overlap, with the total of the earlier ones
    SELECT device_id, start_ns, end_ns, sum(end_ns - start_ns) OVER (
            PARTITION BY device_id ORDER BY start_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS before_ns
    FROM finding_compute
), side AS (  -- copies in, copies out, and both
    SELECT *, CASE WHEN is_in THEN 1 ELSE 2 END AS side FROM copy UNION ALL SELECT *, 3 FROM copy
), fresh AS (
    SELECT device_id, side, greatest(start_ns, coalesce(max(end_ns) OVER (
            PARTITION BY device_id, side ORDER BY start_ns, end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), start_ns)) AS s, end_ns AS e
    FROM side QUALIFY e > s
), moment AS (
    SELECT device_id, s AS t, -1 AS sign FROM fresh WHERE side = 3
    UNION ALL SELECT device_id, e, 1 FROM fresh WHERE side = 3
    UNION ALL SELECT device_id, start_ns, 0 FROM copy WHERE is_in
), beside AS (  -- compute time by the end of each copy, less that by its start; the compute before copies in
    SELECT moment.device_id,
        sum(sign * (coalesce(before_ns, 0) + coalesce(least(t, end_ns) - start_ns, 0))) AS shared_ns,
        count(DISTINCT start_ns) FILTER (sign = 0) AS turns
    FROM moment ASOF LEFT JOIN compute ON moment.device_id = compute.device_id AND moment.t >= compute.start_ns
    GROUP BY moment.device_id
), copied AS (
    SELECT device_id, coalesce(sum(e - s) FILTER (side = 1), 0) AS h, coalesce(sum(e - s) FILTER (side = 2), 0) AS d,
        sum(e - s) FILTER (side = 3) AS copies
    FROM fresh GROUP BY device_id
), computed AS (SELECT device_id, sum(end_ns - start_ns) AS k FROM compute GROUP BY device_id
), total AS (
    SELECT sum(h)::BIGINT AS h, sum(d)::BIGINT AS d, sum(least(k, copies) - shared_ns) AS beside_ns,
        sum(k)::BIGINT AS kernel_ns, sum(copies)::BIGINT AS copy_ns,
        (sum(copies) - sum(shared_ns))::BIGINT AS alone_ns,
        100.0 * sum(shared_ns) / nullif(sum(copies), 0) AS overlap_pct,
        coalesce(sum(CASE WHEN turns >= 3 AND 100 * shared_ns < $hidden::DOUBLE * copies
                    THEN k + copies - shared_ns - greatest(k, h, d) END), 0)::BIGINT AS ns
    FROM copied JOIN beside USING (device_id) LEFT JOIN computed USING (device_id)
), shown AS (
    SELECT end_ns - start_ns AS ns, {
            'name': operation, 'ns': end_ns - start_ns, 'bytes': bytes, 'start_ns': start_ns, 'end_ns': end_ns,
            'device': device_id, 'stream': stream_id
        } AS piece
    FROM selected_memop WHERE kind = 'memcpy' AND copy_kind IN (1, 2, 3, 4) ORDER BY ns DESC, start_ns LIMIT 10
)
SELECT 100.0 * total.ns / nullif(finding_window.ns, 0) AS value, total.ns AS saving_ns, overlap_pct, copy_ns, kernel_ns,
    alone_ns, CASE WHEN 2 * beside_ns < total.ns THEN h END AS in_ns,
    CASE WHEN 2 * beside_ns < total.ns THEN d END AS out_ns,
    CASE WHEN 2 * h >= kernel_ns THEN 'much input' END AS cause,
    (SELECT list(piece ORDER BY ns DESC) FROM shown) AS evidence
FROM finding_window CROSS JOIN total;
