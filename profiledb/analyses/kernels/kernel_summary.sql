-- title: One kernel
-- One row: name, class, share and durations of one kernel, and its neighbors in the order of total time. No row if the
-- selection lacks the kernel.
-- page: kernel
-- needs: kernel
-- includes: selection, nsys
-- selects: part
-- param: kernel =  number of the kernel (analysis kernels), or its full name
-- column: kernel | text | | number of the kernel
-- column: name | text | | readable name without templates and arguments
-- column: demangled | text | | full name with template arguments
-- column: mangled | text | | mangled name, if captured
-- column: class | class | | kernel class
-- column: rank | count | | rank by total time, from 1
-- column: kernels | count | | number of different kernels in the selection
-- column: total_ns | ns | | sum of durations
-- column: share_pct | % | .2f | share of the sum of all kernel durations of the selection
-- column: calls = Launches | count | | number of launches
-- column: avg_ns | ns | .1f | mean duration
-- column: median_ns | ns | .1f | median duration
-- column: p95_ns | ns | .1f | 95th percentile of the launch durations
-- column: min_ns | ns | | shortest duration
-- column: max_ns | ns | | longest duration
-- column: stddev_ns = Std dev | ns | .1f | sample standard deviation (n - 1), 0 for a single launch
-- column: first_ns | ns | | start of the first launch, from the start of the capture
-- column: last_ns | ns | | end of the last launch, from the start of the capture
-- column: devices | count | | number of GPUs it ran on
-- column: streams | count | | number of streams it ran on
-- column: previous_kernel | text | | number of the kernel with the next larger total
-- column: next_kernel | text | | number of the kernel with the next smaller total
WITH total AS (
    SELECT kernel, any_value(demangled) AS demangled, sum(total_ns) AS total_ns, sum(calls) AS calls
    FROM (SELECT name_id, sum(end_ns - start_ns) AS total_ns, count(*) AS calls FROM selected_kernel AS kernel
        GROUP BY name_id)
    JOIN kernel_key USING (name_id) GROUP BY kernel
), ranked AS (
    SELECT kernel, row_number() OVER by_total AS rank, count(*) OVER () AS kernels, sum(total_ns) OVER () AS whole_ns,
        lag(kernel) OVER by_total AS previous_kernel, lead(kernel) OVER by_total AS next_kernel
    FROM total WINDOW by_total AS (ORDER BY total_ns DESC, calls, demangled)
), mine AS (
    SELECT sum(end_ns - start_ns)::BIGINT AS total_ns, count(*) AS calls, avg(end_ns - start_ns) AS avg_ns,
        median(end_ns - start_ns) AS median_ns, quantile_cont(end_ns - start_ns, 0.95) AS p95_ns,
        min(end_ns - start_ns) AS min_ns, max(end_ns - start_ns) AS max_ns, deviation(end_ns - start_ns) AS stddev_ns,
        min(start_ns) AS first_ns, max(end_ns) AS last_ns, count(DISTINCT device_id) AS devices,
        count(DISTINCT row(global_pid, device_id, stream_id)) AS streams
    FROM selected_kernel AS kernel WHERE name_id IN (FROM kernel_ids($kernel))
)
SELECT ranked.kernel, readable_name(short, demangled) AS name, demangled, mangled, class, rank, kernels, total_ns,
    100.0 * total_ns / nullif(whole_ns, 0) AS share_pct, calls, avg_ns, median_ns, p95_ns, min_ns, max_ns, stddev_ns,
    first_ns - capture_window.start_ns AS first_ns, last_ns - capture_window.start_ns AS last_ns, devices, streams,
    previous_kernel, next_kernel
FROM ranked JOIN kernel_key ON kernel_key.name_id = ranked.kernel CROSS JOIN mine CROSS JOIN capture_window
WHERE ranked.kernel IN (FROM kernel_ids($kernel));
