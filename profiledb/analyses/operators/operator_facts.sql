-- title: Operators in a nutshell
-- One row: totals of operators and their launches, and of work outside operators.
-- page: operators
-- prefetch: part
-- needs: operator
-- includes: selection, operator_time
-- selects: part
-- column: operators | count | | operators that started in the selection
-- column: names | count | | number of different names
-- column: device_ns | ns | | GPU time launched by operators: kernels, memcpy and memset
-- column: outside_ns | ns | | GPU time not launched by operators, for example kernels of a compiled model
-- column: host_ns = CPU time | ns | | CPU time of outermost operators
-- column: shaped | count | | operators with shapes in the trace
-- column: flops | FLOP | .0f | floating-point operations of the trace or of the model
-- column: modeled_pct | % | .2f | share of the operators' GPU time in those with FLOPs
-- column: modules | count | | module calls in the trace
-- column: frames | count | | Python functions in the trace, and operators with their own stack
WITH total AS (
    SELECT count(*) FILTER (is_kept) AS operators, count(DISTINCT name_id) AS names,
        coalesce(sum(device_self_ns), 0)::BIGINT AS device_ns, count(dims_id) FILTER (is_kept) AS shaped,
        sum(flops) FILTER (is_kept) AS flops, sum(device_ns) FILTER (flops > 0) AS flops_ns
    FROM selected_operator
), gpu AS (
    SELECT coalesce(sum(end_ns - start_ns), 0)::BIGINT AS all_ns FROM (
        SELECT start_ns, end_ns FROM selected_kernel UNION ALL SELECT start_ns, end_ns FROM selected_memop
        UNION ALL SELECT start_ns, end_ns FROM selected_graph_launch
    )
)
SELECT operators, names, device_ns, all_ns - device_ns AS outside_ns,
    (SELECT coalesce(sum(end_ns - start_ns), 0)::BIGINT FROM operator_outermost SEMI JOIN selected_range
        USING (range_id)) AS host_ns,
    shaped, flops, 100.0 * flops_ns / nullif(device_ns, 0) AS modeled_pct,
    (SELECT count(*) FROM module_call) AS modules,
    (SELECT count(*) FROM python_call) + (SELECT count(stack_id) FROM operator) AS frames
FROM total CROSS JOIN gpu;
