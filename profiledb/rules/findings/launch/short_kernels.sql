-- title: Kernels shorter than their launch
-- question: Are kernels too short for one thread to keep the GPU busy?
-- The sum of the time by which launch calls exceed their kernels, as a share of the active span (first to last
-- operation of each GPU). A kernel shorter than the call that launches it cannot be hidden behind the kernels before
-- it. The GPU's idle time in gaps of 2 to 100 µs caps the sum, so launches hidden by a full queue do not count; shorter
-- gaps are normal between two kernels. Kernels of CUDA graphs do not count. The rule needs at least 100 kernels.
-- needs: kernel
-- needs: api_call
-- includes: finding, idle
-- selects: part
-- once: span, names, functions, idle
-- parts: launch_bound
-- parts: launch call, launch latency, between operations, host code
-- level: place
-- unit: %
-- fires: above
-- param: threshold = 5 fires at or above this share of the active span
-- column: short_pct | % | .1f | share of the kernels that are shorter than their launch call
-- column: kernels | count | | kernels launched one by one
-- column: kernel_ns | ns | .1f | mean duration of the short kernels
-- column: call_ns | ns | .1f | mean duration of their launch calls
-- says: {short_pct} of {kernels} kernels are shorter than the call that launches them (on average {kernel_ns} against {call_ns}).
-- clear: Kernels shorter than their launch call cost at most {value} of the time.
-- advice: -> launch_less
-- advice: [not CuPy, not Numba] -> fuse
-- advice: [training, PyTorch, not fused optimizer] Update all parameters by a few kernels: `fused=True` in the optimizer.
-- change: cuda_graph
-- source: HTA cuda_kernel_analysis (kernel shorter than its launch); nsys-ai and TraceLens (mean below 10 µs); share of the time: ours
WITH launched AS MATERIALIZED (
    SELECT kernel.name_id, kernel.end_ns - kernel.start_ns AS kernel_ns, call.end_ns - call.start_ns AS call_ns
    FROM selected_single_kernel AS kernel JOIN (SELECT call_id, start_ns, end_ns FROM api_call) AS call USING (call_id)
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
    SELECT any_value(readable) AS name, kernel, count(*) AS launches,
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
