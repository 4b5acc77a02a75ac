-- title: Launch, queue and execution times of kernels
-- Times of kernel launches: the call that launched the kernel, the queue time from the end of the call to the start of
-- the kernel (unless it started before), and the execution; by kernel, longest total of calls first. The first row,
-- without a kernel, covers all. A launch is host bound if the kernel is shorter than its call and starts at most
-- `idle_ns` after it: the GPU waited for the CPU. Kernels without a call in the report are left out, and so are CUDA
-- graph nodes, because one call launches many.
-- page: idle
-- show: name 190, launches, call_ns, queue_ns, kernel_ns, median_call_ns, median_queue_ns, median_kernel_ns
-- show: host_bound_pct, class 184
-- prefetch: part
-- needs: kernel
-- needs: api_call
-- includes: selection, memory
-- selects: part
-- once: names
-- param: idle_ns = 5000 longest queue time of a kernel for which the GPU was waiting
-- column: kernel | text | | number of the kernel, empty for all kernels
-- column: name = Kernel | text | | name without templates and arguments
-- column: class | class | | kernel class
-- column: launches | count | | number of launches
-- column: call_ns = Launch calls | ns | | sum of durations of the launch calls on the CPU
-- column: median_call_ns | ns | .1f | median duration of a call
-- column: queued | count | | launches with a queue time
-- column: queue_ns | ns | | sum of times from the end of the call to the start of the kernel
-- column: median_queue_ns | ns | .1f | median queue time of the launches that started after their call had returned
-- column: kernel_ns | ns | | sum of durations on the GPU
-- column: median_kernel_ns | ns | .1f | median duration of a kernel
-- column: host_bound_pct = Launch bound | % | .1f | share of the launches whose kernel is shorter than its call and started at most 5 µs after it: the GPU waited for the CPU
WITH launch AS (
    SELECT kernel.name_id, api_call.end_ns - api_call.start_ns AS call, kernel.end_ns - kernel.start_ns AS run,
        CASE WHEN kernel.start_ns >= api_call.end_ns THEN kernel.start_ns - api_call.end_ns END AS queue
    FROM selected_single_kernel AS kernel JOIN api_call USING (call_id)
), keyed AS (
    SELECT kernel_key.kernel, call, run, queue FROM launch LEFT JOIN kernel_key USING (name_id)
), summary AS (
    SELECT kernel, grouping(kernel) AS is_all, count(*) AS launches, sum(call)::BIGINT AS call_ns,
        median(call) AS median_call_ns,
        count(queue) AS queued, sum(queue)::BIGINT AS queue_ns, median(queue) AS median_queue_ns,
        sum(run)::BIGINT AS kernel_ns, median(run) AS median_kernel_ns,
        100.0 * count(*) FILTER (run < call AND coalesce(queue, 0) <= $idle_ns::BIGINT) / count(*) AS host_bound_pct
    FROM keyed GROUP BY ROLLUP(kernel) HAVING count(*) > 0
)
SELECT summary.kernel, CASE WHEN is_all = 0 THEN readable END AS name, class, launches, call_ns,
    median_call_ns, queued, queue_ns, median_queue_ns, kernel_ns, median_kernel_ns, host_bound_pct
FROM summary LEFT JOIN kernel_key ON kernel_key.name_id = summary.kernel
ORDER BY is_all DESC, call_ns DESC, summary.kernel;
