-- title: Loading modules and creating contexts
-- question: Does the GPU wait while CUDA starts up or loads kernels?
-- The share of the time from the first to the last operation of each GPU that is idle while the launching thread loads
-- a module, or launches for at least `launch_ns`, or is in a CUDA call for at least `call_ns` that neither waits for
-- the GPU nor copies: the first launch of a kernel loads its code, and the first stream or allocation makes the
-- context; pinning memory of the host is neither. A launch that waits for room in a queue takes long, too, but then the
-- GPU works. This happens once, so it matters in short programs and in captures that hold the start.
-- needs: kernel or memop or graph_launch
-- needs: api_call
-- includes: finding, idle
-- selects: part
-- once: functions, idle
-- parts: module loading, launch call, allocation, other CUDA call
-- unit: %
-- fires: above
-- param: threshold = 5 share of the time from which on it is said
-- param: launch_ns = 1000000 launches count from this duration on, 100 times what one takes
-- param: call_ns = 10000000 other CUDA calls count from this duration on
-- column: idle_ns | ns | | idle time of all GPUs in these calls
-- column: calls | count | | calls and gaps that count
-- column: function | name | | the function of most of this time
-- says: The GPU waits {value} of the time ({idle_ns}) for CUDA to start up or to load kernels, most of it in {function}.
-- clear: The GPU waits {value} of the time for CUDA to start up or to load kernels.
-- advice: [trace, PyTorch] Leave the start out of what you record: `torch.profiler.schedule(wait=1, warmup=2, active=3)`.
-- advice: [trace, else] Leave the start out of what you record: warm up before the profiler starts.
-- advice: [else, HIP] Leave the start out of what you measure: warm up before the profiler starts to record.
-- advice: [else, PyTorch] Leave the start out of what you measure: warm up, then capture from `torch.cuda.profiler.start()` on with `nsys profile --capture-range=cudaProfilerApi`.
-- advice: [else, CuPy] Leave the start out of what you measure: warm up, then capture from `cupyx.profiler.profile()` on with `nsys profile --capture-range=cudaProfilerApi`; `CUPY_CACHE_IN_MEMORY=0` keeps compiled kernels on the disk.
-- advice: [else, Numba] Compile before you measure: `@cuda.jit("void(float32[:])")` or `cache=True`, then capture from `cuda.profile_start()` on with `nsys profile --capture-range=cudaProfilerApi`.
-- advice: [else] Leave the start out of what you measure: warm up, then capture from `cudaProfilerStart` on with `nsys profile --capture-range=cudaProfilerApi`.
-- advice: [not HIP] Load less: `CUDA_MODULE_LOADING=LAZY` loads a kernel when it is first launched, `EAGER` all at the start, outside of the loop.
-- source: NAI book and module_loading (first step 10 to 100 times the median); share of 5 % own
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
    CASE WHEN EXISTS (FROM operator) THEN 'trace' ELSE 'nsys' END AS cause,
    (SELECT function FROM main) AS function, (SELECT list(piece ORDER BY ns DESC, s) FROM shown) AS evidence
FROM finding_window CROSS JOIN total;
