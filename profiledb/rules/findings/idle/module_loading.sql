-- title: Loading modules and creating contexts
-- question: Does the GPU wait while CUDA starts up or loads kernels?
-- The share of each GPU's active span (first to last operation) that it is idle while the launching thread loads a
-- module, spends at least `launch_ns` in a launch, or spends at least `call_ns` in another CUDA call that neither waits
-- for the GPU nor copies. A kernel's first launch loads its code, and the first stream or allocation creates the
-- context. Pinning host memory does not count. A launch also takes long if its queue is full, but then the GPU works.
-- This happens once, so it matters in short programs and in captures of the start.
-- needs: kernel or memop or graph_launch
-- needs: api_call
-- includes: finding, idle
-- selects: part
-- once: span, functions, idle
-- parts: module loading, launch call, allocation, other CUDA call
-- unit: %
-- fires: above
-- param: threshold = 5 fires at or above this share of the active span
-- param: launch_ns = 1000000 shortest launch that counts, 100 times the usual duration
-- param: call_ns = 10000000 shortest other CUDA call that counts
-- column: idle_ns | ns | | idle time of all GPUs in these calls
-- column: calls | count | | calls and gaps that count
-- column: function | name | | function with most of this time
-- says: The GPU waits {value} of the time ({idle_ns}) while CUDA starts up or loads kernels, mostly in {function}.
-- clear: The GPU waits {value} of the time while CUDA starts up or loads kernels.
-- advice: [trace, PyTorch] Exclude start-up from the capture: `torch.profiler.schedule(wait=1, warmup=2, active=3)`.
-- advice: [trace, else] Exclude start-up from the capture: warm up before the profiler starts.
-- advice: [else, HIP] Exclude start-up from the capture: warm up before the profiler starts to record.
-- advice: [else, PyTorch] Exclude start-up from the capture: warm up, then capture from `torch.cuda.profiler.start()` on with `nsys profile --capture-range=cudaProfilerApi`.
-- advice: [else, CuPy] Exclude start-up from the capture: warm up, then capture from `cupyx.profiler.profile()` on with `nsys profile --capture-range=cudaProfilerApi`; `CUPY_CACHE_IN_MEMORY=0` keeps compiled kernels on the disk.
-- advice: [else, Numba] Compile before you measure: `@cuda.jit("void(float32[:])")` or `cache=True`, then capture from `cuda.profile_start()` on with `nsys profile --capture-range=cudaProfilerApi`.
-- advice: [else] Exclude start-up from the capture: warm up, then capture from `cudaProfilerStart` on with `nsys profile --capture-range=cudaProfilerApi`.
-- advice: [not HIP] Load less: `CUDA_MODULE_LOADING=LAZY` loads a kernel when it is first launched, `EAGER` all at the start, outside of the loop.
-- source: nsys-ai book and module_loading (first step 10 to 100 times the median); share of 5 %: ours
WITH piece AS MATERIALIZED (
    SELECT gap_id, device_id, s, e, ns, function, pre FROM selected_idle(2000, NULL)
    WHERE reason = 'module loading' OR reason = 'launch call' AND ns >= $launch_ns::BIGINT
        OR ns >= $call_ns::BIGINT AND function IS NOT NULL
        AND reason IN ('allocation', 'other CUDA call') AND function NOT LIKE '%Host%'
), total AS (
    SELECT coalesce(sum(ns), 0)::BIGINT AS ns, count(*) AS calls FROM piece
), main AS (
    SELECT function FROM piece GROUP BY function ORDER BY sum(ns) DESC, function LIMIT 1
), shown AS (
    SELECT ns, s, {
            'name': function, 'ns': ns, 'start_ns': s, 'end_ns': e, 'device': device_id, 'range': path
        } AS piece
    FROM (FROM piece ORDER BY ns DESC, s LIMIT 10) AS piece
    LEFT JOIN (SELECT pre, path_id FROM range) USING (pre) LEFT JOIN range_path USING (path_id)
)
SELECT 100.0 * total.ns / nullif(finding_window.ns, 0) AS value, total.ns AS saving_ns, total.ns AS idle_ns, calls,
    CASE WHEN has_rows('operator') THEN 'trace' ELSE 'nsys' END AS cause,
    (SELECT function FROM main) AS function, (SELECT list(piece ORDER BY ns DESC, s) FROM shown) AS evidence
FROM finding_window CROSS JOIN total;
