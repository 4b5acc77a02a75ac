-- title: Kernels shorter than their launch
-- question: Are kernels too short for one thread to keep the GPU busy?
-- A kernel that takes less time than the call that launches it cannot be hidden behind the kernels before it. The value
-- is what these calls take longer than their kernels, added up, as a share of the time from the first to the last
-- operation of each GPU; it counts at most as much as the GPU is idle in gaps of 2 to 100 µs, so that launches that a
-- full queue hides count nothing: shorter gaps are the price of two kernels in a row. Kernels of CUDA graphs are left
-- out. A selection with fewer than 100 kernels is not judged.
-- needs: kernel
-- needs: api_call
-- includes: finding, idle
-- selects: part
-- once: functions, idle
-- parts: launch call, launch latency, between operations, host code
-- level: place
-- unit: %
-- fires: above
-- param: threshold = 5 share of the time from which on short kernels count
-- column: short_pct | % | .1f | share of the kernels that are shorter than their launch call
-- column: kernels | count | | kernels that were launched one by one
-- column: kernel_ns | ns | .1f | mean duration of the short ones
-- column: call_ns | ns | .1f | mean duration of their launch calls
-- says: {short_pct} of {kernels} kernels are shorter than the call that launches them: {kernel_ns} against {call_ns} on average. That costs up to {value} of the time.
-- clear: Kernels shorter than their launch call cost at most {value} of the time.
-- advice: -> launch_less
-- advice: [not CuPy, not Numba] -> fuse
-- advice: [training, PyTorch, not fused optimizer] Update all parameters by a few kernels: `fused=True` in the optimizer.
-- source: HTA cuda_kernel_analysis (kernel shorter than its launch); NAI and TL (mean below 10 µs); share of the time own
WITH launched AS MATERIALIZED (
    SELECT kernel.name_id, kernel.end_ns - kernel.start_ns AS kernel_ns, call.end_ns - call.start_ns AS call_ns
    FROM selected_kernel AS kernel JOIN (SELECT call_id, start_ns, end_ns FROM api_call) AS call USING (call_id)
    WHERE coalesce(graph_node_id, 0) = 0
), total AS (
    SELECT count(*) AS kernels, count(*) FILTER (call_ns > kernel_ns) AS short,
        coalesce(sum(call_ns - kernel_ns) FILTER (call_ns > kernel_ns), 0) AS excess_ns,
        avg(kernel_ns) FILTER (call_ns > kernel_ns) AS kernel_ns, avg(call_ns) FILTER (call_ns > kernel_ns) AS call_ns
    FROM launched
), idle AS (
    SELECT coalesce(sum(b - a), 0) AS ns FROM selected_hole(2000) WHERE b - a <= 100000
), bound AS (
    SELECT least(excess_ns, idle.ns)::BIGINT AS ns FROM total CROSS JOIN idle
), by_name AS (
    SELECT any_value(readable_name(short, demangled)) AS name, kernel, count(*) AS launches,
        sum(call_ns - kernel_ns)::BIGINT AS ns
    FROM launched JOIN kernel_key USING (name_id) WHERE call_ns > kernel_ns
    GROUP BY kernel ORDER BY ns DESC, kernel LIMIT 10
)
SELECT CASE WHEN kernels >= 100 THEN 100.0 * bound.ns / nullif(finding_window.ns, 0) END AS value,
    CASE WHEN kernels < 100 THEN 'The selection has fewer than 100 kernels that were launched one by one.' END
        AS unjudged,
    bound.ns AS saving_ns, 100.0 * short / nullif(kernels, 0) AS short_pct, kernels, kernel_ns, call_ns,
    (
        SELECT list({'name': name, 'ns': by_name.ns, 'count': launches, 'kernel': kernel} ORDER BY by_name.ns DESC)
        FROM by_name
    ) AS evidence
FROM finding_window CROSS JOIN total CROSS JOIN bound;
