-- title: Copies take longer than the work
-- question: Do copies between CPU and GPU take longer than the GPU computes?
-- The time in which copies between CPU and GPU run, over the time in which the GPU computes (kernels without
-- communication, whole graphs). From 1 on the link limits the program, however well copies and kernels overlap. With a
-- copy to the GPU counts the host code ahead of it for which the GPU waits, if the CPU can have filled a buffer of
-- this size in it (`staged_bytes_per_s` or faster): JAX and others copy into pinned memory of their own first. If the
-- copies would take `peak_ratio` times as long as the compute even at the peak of the link, this is the cause: faster
-- copies would still take much of the time. It is not if most of the copies take turns with kernels, and `hidden`
-- percent of that time would be gone beside kernels and the other direction: then they only lack overlap. The cause is
-- `to host` if three quarters of the bytes go there. The value is 0 if copies run for less than
-- `least_pct` percent of the active span (first to last operation of each GPU).
-- needs: kernel or memop or graph_launch
-- includes: finding, work, memory, idle
-- selects: part
-- once: span, compute, functions, idle
-- parts: copies, host code (staged_ns)
-- level: place
-- unit: ratio
-- fires: above
-- param: threshold = 1 fires at or above this ratio of copy time to compute time
-- param: least_pct = 5 share of the active span below which the value is 0, percent
-- param: peak_ratio = 0.5 from this ratio on at the peak of the link, slow or pageable copies are not the cause
-- param: hidden = 75 share of the copies' time without kernels from which overlap removes the problem, percent
-- param: staged_bytes_per_s = 4000000000 slowest rate at which the CPU fills a buffer, bytes/s
-- column: copy_ns | ns | | time in which copies between CPU and GPU run
-- column: compute_ns | ns | | time in which the GPU computes
-- column: copy_pct | % | .1f | share of the active span in which these copies run
-- column: bytes | bytes | | bytes copied
-- column: staged_ns | ns | | time that the GPU waits for host code right ahead of copies to it
-- column: ahead_ns | ns | | the same, if it is 5 % of the copy time or more
-- says: Copies between CPU and GPU take {copy_ns} ({bytes}), and before them the GPU waits {ahead_ns} for the CPU: {value} times the {compute_ns} of compute.
-- says: Copies between CPU and GPU take {copy_ns} ({bytes}), {value} times the {compute_ns} of compute.
-- says: Copies between CPU and GPU take {copy_ns}, and the GPU computes nothing.
-- clear: Copies between CPU and GPU run for {copy_pct} of the time, less than kernels do.
-- clear: Few copies between CPU and GPU.
-- advice: [JAX or XLA] Keep data on the GPU between calls of `jax.jit`: pass `jax.Array`s on instead of NumPy arrays (`donate_argnums` reuses their memory).
-- advice: [else, CuPy] Keep `cupy` arrays on the GPU between operations: no `cupy.asarray(host)` and `.get()` around each.
-- advice: [else, Numba] Keep device arrays between kernels (`cuda.to_device` once): a NumPy array as an argument is copied both ways at each launch.
-- advice: [else, OpenACC] Keep arrays on the GPU around the loop: a `data` region, `present` inside of it.
-- advice: [else, OpenMP offload] Keep arrays on the GPU around the loop: a `target data` region.
-- advice: [else, to host, PyTorch] Copy back only what the CPU needs: choose, reduce or convert it on the GPU before the copy (`x[:, ::100].cpu()`, not `x.cpu()[:, ::100]`).
-- advice: [else, to host] Copy back only what the CPU needs: choose, reduce or convert it on the GPU before the copy.
-- advice: [else] Keep data on the GPU between steps; copy it once, in the smallest type that will do, and decode or convert it there.
-- advice: [to host] -> pin_results
-- advice: [not to host, not pinned memory] If each step needs new data, copy it from pinned memory while the GPU computes the step before.
-- advice: Do more work per copy, such as several passes over the same data. If there is none, the CPU may be faster (page CPU vs GPU).
-- source: TraceLens (copies over 5 % of the time); nsys-ai book; ratio: ours
WITH copy AS MATERIALIZED (FROM selected_copy WHERE limited_by = 'host link'
), copied AS (FROM finding_cover('copy', 'finding_compute')
), computed AS (SELECT coalesce(sum(end_ns - start_ns), 0)::BIGINT AS ns FROM finding_compute
), total AS (
    SELECT sum(bytes)::BIGINT AS bytes, max(least_ns) AS least_ns, max(longest_ns) AS longest_ns,
        4 * coalesce(sum(bytes) FILTER (copy_kind = 2), 0) >= 3 * sum(bytes) AS back
    FROM (  -- both directions at the same time
        SELECT any_value(copy_kind) AS copy_kind, sum(bytes) AS bytes, sum(bytes * 1e9 / peak_bytes_per_s) AS least_ns,
            sum(duration_ns) AS longest_ns
        FROM copy GROUP BY direction
    )
), filled AS (
    SELECT any_value(ns) AS ns, sum(bytes) AS bytes
    FROM (
        SELECT gap_id, any_value(next.call_id) AS call_id, sum(ns) AS ns FROM selected_idle(2000, NULL)
        WHERE reason = 'host code' GROUP BY gap_id
    ) AS gap JOIN (SELECT call_id, bytes FROM copy WHERE copy_kind = 1) AS sent USING (call_id) GROUP BY gap_id
), staged AS (
    SELECT coalesce(sum(ns), 0)::BIGINT AS ns FROM filled WHERE ns * $staged_bytes_per_s::DOUBLE <= 1e9 * bytes
), shown AS (
    SELECT {
            'name': direction, 'ns': duration_ns, 'bytes': bytes, 'start_ns': start_ns, 'end_ns': end_ns,
            'device': device_id, 'stream': stream_id
        } AS piece
    FROM copy ORDER BY duration_ns DESC, start_ns LIMIT 10
)
SELECT CASE WHEN 100.0 * copied.ns < $least_pct::DOUBLE * finding_window.ns OR copied.ns = 0 THEN 0
        ELSE (copied.ns + staged.ns) / greatest(1, computed.ns) END AS value,
    bare_ns + staged.ns AS saving_ns,
    coalesce(total.least_ns >= $peak_ratio::DOUBLE * computed.ns, false) AND NOT coalesce(
        2 * bare_ns >= copied.ns AND 100 * (computed.ns + bare_ns - greatest(computed.ns, longest_ns))
            >= $hidden::DOUBLE * bare_ns, false) AS is_cause,
    CASE WHEN back THEN 'to host' END AS cause,
    nullif(staged.ns, 0) AS staged_ns,
    CASE WHEN 20 * staged.ns >= copied.ns AND staged.ns > 0 THEN staged.ns END AS ahead_ns,
    copied.ns AS copy_ns, nullif(computed.ns, 0) AS compute_ns,
    100.0 * copied.ns / nullif(finding_window.ns, 0) AS copy_pct, bytes,
    (SELECT list(piece ORDER BY piece.ns DESC, piece.start_ns) FROM shown) AS evidence
FROM finding_window CROSS JOIN copied CROSS JOIN computed CROSS JOIN total CROSS JOIN staged
WHERE finding_window.ns > 0;
