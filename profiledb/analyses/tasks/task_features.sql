-- title: Features of tasks for machine learning
-- One row per task and size of the timings beside the report: the times, the GPU, and the profile of the ranges
-- TASK_SIZE/gpu, such as matmul_1024/gpu, without warm-up. Selections have no effect. Counts, bytes and sums of
-- durations of the profile are means per repetition, except those called median. Unknown values are empty: without such
-- ranges all profile values, except those that the program itself reports.
-- page: cpu_vs_gpu
-- needs: task_time
-- includes: selection, sidecar, memory, peak, task, task_energy, share
-- column: gpu_name | text | | product name of the GPU with the most work
-- column: compute_capability | text | | compute capability, major.minor
-- column: sm_count | count | | number of streaming multiprocessors
-- column: sm_clock_hz | Hz | | highest SM clock
-- column: memory_bandwidth_bytes_per_s | bytes/s | | peak of the GPU memory
-- column: precision | text | | precision of the program, from NAME.meta.json: fp32 ...
-- column: peak_flops_per_s | FLOP/s | | dense peak of the GPU in that precision
-- column: peak_from | text | | source of the peak: the data sheet, or SMs x FLOPs per cycle x highest clock
-- column: cpu_name | text | | processor; cpu_name of NAME.meta.json if the report lacks it
-- column: cpu_backend | text | | library used on the CPU (backends.cpu of NAME.meta.json)
-- column: gpu_backend | text | | library used on the GPU (backends.gpu of NAME.meta.json)
-- column: task | text | | task that was computed
-- column: size | count | | task size, in the program's count
-- column: flops | FLOP | | operations of the task, if the program reports them
-- column: cpu_repetitions | count | | complete timed repetitions on the CPU
-- column: gpu_repetitions | count | | complete timed repetitions on the GPU
-- column: cpu_total_median_ns | ns | | median CPU time of all parts together
-- column: cpu_total_std_ns | ns | | sample standard deviation of this CPU time
-- column: cpu_compute_median_ns | ns | | median of compute on the CPU
-- column: cpu_allocate_median_ns | ns | | median of allocation on the CPU
-- column: gpu_total_median_ns | ns | | median GPU time of all parts together
-- column: gpu_total_std_ns | ns | | sample standard deviation of this CPU time
-- column: gpu_compute_median_ns | ns | | median of compute on the GPU
-- column: gpu_allocate_median_ns | ns | | median of allocation on the GPU
-- column: gpu_to_device_median_ns | ns | | median of the copies to the GPU
-- column: gpu_to_host_median_ns | ns | | median of the copy back
-- column: gpu_other_median_ns | ns | | median of all other parts on the GPU
-- column: transfer_share_pct | % | | to_device and to_host as a share of the GPU time
-- column: gpu_energy_j | J | | energy of the GPUs for all parts of one repetition on the GPU: from its repetitions beside a power log (tasks --energy-seconds)
-- column: gpu_mean_w | W | | mean power of the GPUs meanwhile
-- column: gpu_idle_w | W | | lowest power in the log: approximately the idle power
-- column: speedup_total | ratio | | CPU median over GPU median, all parts
-- column: speedup_compute | ratio | | CPU median over GPU median, compute only
-- column: cpu_compute_flops_per_s | FLOP/s | | FLOPs over the median of compute on the CPU
-- column: gpu_compute_flops_per_s | FLOP/s | | FLOPs over the median of compute on the GPU
-- column: profiled_repetitions | count | | number of analyzed ranges
-- column: host_median_ns | ns | | median duration of the range on the CPU
-- column: api_calls | count | | CUDA calls per repetition
-- column: api_ns | ns | | sum of their durations; nested calls count twice
-- column: launch_calls | count | | calls that launch kernels or graphs
-- column: launch_ns | ns | | sum of their durations
-- column: kernels | count | | kernels per repetition; empty if graphs hide them
-- column: distinct_kernels | count | | number of different full kernel names
-- column: kernel_ns | ns | | sum of kernel durations
-- column: kernel_median_ns | ns | | median of this sum
-- column: gpu_busy_ns | ns | | union of the times of kernels, copies and memsets
-- column: copies_to_device | count | | copies from host to device
-- column: bytes_to_device | bytes | | sum of their sizes; without a profile, bytes_by_task less result_bytes_by_task of NAME.meta.json
-- column: copy_to_device_ns | ns | | sum of their durations
-- column: copies_to_host | count | | copies from device to host
-- column: bytes_to_host | bytes | | sum of their sizes; without a profile, result_bytes_by_task of NAME.meta.json
-- column: copy_to_host_ns | ns | | sum of their durations
-- column: copies_other | count | | all other copies
-- column: bytes_other | bytes | | sum of their sizes
-- column: copy_ns | ns | | sum of all copy durations
-- column: top_kernel_name | text | | full name of the kernel and launch shape with the most time
-- column: top_kernel_class | text | | class of this kernel
-- column: top_kernel_share_pct | % | | share of this kernel in the kernel time
-- column: top_kernel_median_ns | ns | | median duration of one launch of this kernel
-- column: top_kernel_launches | count | | launches of this kernel
-- column: grid_x | count | | grid size in x, blocks
-- column: grid_y | count | | grid size in y, blocks
-- column: grid_z | count | | grid size in z, blocks
-- column: block_x | count | | block size in x, threads
-- column: block_y | count | | block size in y, threads
-- column: block_z | count | | block size in z, threads
-- column: registers_per_thread | count | | 32-bit registers per thread
-- column: static_shared_bytes | bytes | | static shared memory per block
-- column: dynamic_shared_bytes | bytes | | dynamic shared memory per block, requested at launch
-- column: kernel_flops_per_s | FLOP/s | | FLOPs over the median of the summed kernel durations
-- column: kernel_peak_pct | % | | kernel_flops_per_s as a share of the peak; empty above 105 %, which is impossible
-- column: kernel_peak_contradiction | text | | reason for an empty share although all inputs are known: the impossible share and its inputs
WITH program AS (
    SELECT short_precision(meta_value(['precision', 'dtype'])) AS precision,
        (SELECT any_value(value) FROM meta WHERE key = 'backends.cpu') AS cpu_backend,
        (SELECT any_value(value) FROM meta WHERE key = 'backends.gpu') AS gpu_backend,
        coalesce((SELECT any_value(cpu) FROM report), (SELECT any_value(value) FROM meta WHERE key = 'cpu_name'))
            AS cpu_name,
        coalesce((SELECT device_id FROM busy GROUP BY device_id
            ORDER BY sum(end_ns - start_ns) DESC, device_id LIMIT 1),
            (SELECT CASE WHEN count(*) = 1 THEN any_value(gpu_id) END FROM gpu)) AS gpu_id
), board AS (
    SELECT gpu.name AS gpu_name, compute_capability, sm_count, nullif(clock_hz, 0) AS sm_clock_hz,
        nullif(memory_bandwidth_bytes_per_s, 0) AS memory_bandwidth_bytes_per_s, program.* EXCLUDE (gpu_id),
            peak_flops_per_s,
        source AS peak_from
    FROM program LEFT JOIN gpu USING (gpu_id) LEFT JOIN gpu_peak((SELECT precision FROM program)) AS peak USING (gpu_id)
), traced AS (
    SELECT has_rows('kernel') OR has_rows('memop') OR has_rows('graph_launch') AS gpu,
        has_rows('api_call') AS calls  -- noqa: LT01,LT06
), span AS MATERIALIZED (FROM task_range
), call AS MATERIALIZED (FROM task_call
), ran AS MATERIALIZED (
    SELECT range_id, name_id, kernel.end_ns - kernel.start_ns AS ns, grid_x, grid_y, grid_z, block_x, block_y, block_z,
        registers_per_thread, static_shared_bytes, dynamic_shared_bytes
    FROM kernel JOIN (SELECT call_id, range_id FROM call) USING (call_id)
), ran_sum AS (
    SELECT range_id, count(*) AS kernels, sum(ns) AS ns FROM ran GROUP BY range_id
), hidden AS (
    SELECT DISTINCT range_id FROM graph_launch JOIN call USING (call_id)
), called AS (
    SELECT range_id, count(*) AS calls, sum(ns) AS ns, count(*) FILTER (category = 'launch') AS launches,
        coalesce(sum(ns) FILTER (category = 'launch'), 0) AS launch_ns
    FROM call LEFT JOIN api_function USING (name_id) GROUP BY range_id
), copied AS (
    SELECT range_id, list_contains([1, 3, 11], copy_kind) AS up, list_contains([2, 4, 12], copy_kind) AS down,
        bytes, end_ns - start_ns AS ns
    FROM memop JOIN (SELECT call_id, range_id FROM call) USING (call_id) WHERE kind = 'memcpy'
), copied_sum AS (
    SELECT range_id, sum(ns) AS ns, count(*) FILTER (up) AS up, coalesce(sum(bytes) FILTER (up), 0) AS up_bytes,
        coalesce(sum(ns) FILTER (up), 0) AS up_ns, count(*) FILTER (down) AS down,
        coalesce(sum(bytes) FILTER (down), 0) AS down_bytes, coalesce(sum(ns) FILTER (down), 0) AS down_ns,
        count(*) FILTER (coalesce(NOT up AND NOT down, true)) AS others,
        coalesce(sum(bytes) FILTER (coalesce(NOT up AND NOT down, true)), 0) AS other_bytes
    FROM copied GROUP BY range_id
), projected AS (
    SELECT range_id, busy_ns FROM projection WHERE mode = 'process'
), repetition AS (  -- traced tables without a row count as 0
    SELECT task, size, host_ns, CASE WHEN traced.calls THEN 0 END AS no_calls,
        CASE WHEN traced.gpu THEN 0 END AS nothing,
        CASE WHEN hidden.range_id IS NULL THEN nothing END AS no_kernel, coalesce(called.calls, no_calls) AS api_calls,
        coalesce(called.ns, no_calls) AS api_ns, coalesce(launches, no_calls) AS launch_calls,
        coalesce(launch_ns, no_calls) AS launch_ns,
        CASE WHEN no_kernel IS NOT NULL THEN coalesce(kernels, no_kernel) END AS kernels,
        CASE WHEN no_kernel IS NOT NULL THEN coalesce(ran_sum.ns, no_kernel) END AS kernel_ns,
        coalesce(busy_ns, nothing) AS busy_ns, coalesce(copied_sum.ns, nothing) AS copy_ns,
        coalesce(up, nothing) AS up, coalesce(up_bytes, nothing) AS up_bytes, coalesce(up_ns, nothing) AS up_ns,
        coalesce(down, nothing) AS down, coalesce(down_bytes, nothing) AS down_bytes,
        coalesce(down_ns, nothing) AS down_ns,
        coalesce(others, nothing) AS others, coalesce(other_bytes, nothing) AS other_bytes
    FROM span CROSS JOIN traced LEFT JOIN ran_sum USING (range_id) LEFT JOIN hidden USING (range_id)
    LEFT JOIN called USING (range_id) LEFT JOIN copied_sum USING (range_id) LEFT JOIN projected USING (range_id)
), profile AS (
    SELECT task, size, count(*) AS profiled_repetitions, median(host_ns) AS host_median_ns, avg(api_calls) AS api_calls,
        avg(api_ns) AS api_ns, avg(launch_calls) AS launch_calls, avg(launch_ns) AS launch_ns, avg(kernels) AS kernels,
        avg(kernel_ns) AS kernel_ns, median(kernel_ns) AS kernel_median_ns, avg(busy_ns) AS gpu_busy_ns,
        avg(up) AS copies_to_device, avg(up_bytes) AS bytes_to_device, avg(up_ns) AS copy_to_device_ns,
        avg(down) AS copies_to_host, avg(down_bytes) AS bytes_to_host, avg(down_ns) AS copy_to_host_ns,
        avg(others) AS copies_other, avg(other_bytes) AS bytes_other, avg(copy_ns) AS copy_ns
    FROM repetition GROUP BY task, size
), shape AS (  -- grouped by numbers: texts take twice as long
    SELECT task, size, kernel, sum(ns) AS ns, median(ns) AS top_kernel_median_ns, count(*) AS top_kernel_launches,
        grid_x, grid_y, grid_z, block_x, block_y, block_z, registers_per_thread, static_shared_bytes,
        dynamic_shared_bytes
    FROM ran JOIN (SELECT task, size, range_id FROM span) USING (range_id)
    LEFT JOIN (SELECT name_id, kernel FROM kernel_key) USING (name_id)
    GROUP BY ALL
), top AS (
    SELECT *, 100 * ns / nullif(sum(ns) OVER (PARTITION BY task, size), 0) AS top_kernel_share_pct,
        count(DISTINCT kernel) OVER (PARTITION BY task, size) AS names, demangled AS top_kernel_name,
        class AS top_kernel_class
    FROM shape LEFT JOIN (SELECT name_id AS kernel, demangled, class FROM kernel_name) USING (kernel)
    QUALIFY row_number() OVER (PARTITION BY task, size ORDER BY ns DESC, kernel, grid_x, grid_y, grid_z,
        block_x, block_y, block_z, registers_per_thread, static_shared_bytes, dynamic_shared_bytes) = 1
)
SELECT board.gpu_name, board.compute_capability, board.sm_count, board.sm_clock_hz, board.memory_bandwidth_bytes_per_s,
    board.precision, board.peak_flops_per_s, board.peak_from, board.cpu_name, board.cpu_backend, board.gpu_backend,
        task, size, flops,
    cpu_repetitions, gpu_repetitions, cpu_median_ns AS cpu_total_median_ns, cpu_std_ns AS cpu_total_std_ns,
    cpu_compute_median_ns, cpu_allocate_ns AS cpu_allocate_median_ns, gpu_median_ns AS gpu_total_median_ns,
    gpu_std_ns AS gpu_total_std_ns, gpu_compute_median_ns, gpu_allocate_ns AS gpu_allocate_median_ns,
    gpu_to_device_ns AS gpu_to_device_median_ns, gpu_to_host_ns AS gpu_to_host_median_ns,
    gpu_other_ns AS gpu_other_median_ns, transfer_share_pct, task_energy.energy_j AS gpu_energy_j,
    task_energy.mean_w AS gpu_mean_w, CASE WHEN gpu_energy_j IS NOT NULL THEN idle_power.idle_w END AS gpu_idle_w,
    speedup_total, speedup_compute,
    cpu_flops_per_s AS cpu_compute_flops_per_s, gpu_flops_per_s AS gpu_compute_flops_per_s,
    profiled_repetitions, host_median_ns, api_calls, api_ns, launch_calls, launch_ns, kernels,
    coalesce(names, CASE WHEN kernels = 0 THEN 0 END) AS distinct_kernels, kernel_ns, kernel_median_ns, gpu_busy_ns,
    copies_to_device, coalesce(bytes_to_device, there_bytes) AS bytes_to_device,
    copy_to_device_ns, copies_to_host, coalesce(bytes_to_host, back_bytes) AS bytes_to_host, copy_to_host_ns,
    copies_other,
    bytes_other, copy_ns, top_kernel_name, top_kernel_class, top_kernel_share_pct, top_kernel_median_ns,
    top_kernel_launches, grid_x, grid_y, grid_z, block_x, block_y, block_z, registers_per_thread, static_shared_bytes,
    dynamic_shared_bytes, 1e9 * flops / nullif(kernel_median_ns, 0) AS kernel_flops_per_s,
    share_of_peak(kernel_flops_per_s, board.peak_flops_per_s) AS kernel_peak_pct,
    peak_contradiction(kernel_flops_per_s, board.peak_flops_per_s, 'FLOP', upper(board.precision) || ', '
        || board.peak_from,
        format('From {:.4g} FLOP in kernels of {:.4g} ms: the FLOPs or the precision is wrong', flops,
            kernel_median_ns / 1e6)) AS kernel_peak_contradiction
FROM task_figure LEFT JOIN profile USING (task, size) LEFT JOIN top USING (task, size)
LEFT JOIN task_energy USING (task, size) LEFT JOIN task_bytes ON task_bytes.key = concat(task, '_', size)
CROSS JOIN idle_power CROSS JOIN board
ORDER BY task_row, size;
