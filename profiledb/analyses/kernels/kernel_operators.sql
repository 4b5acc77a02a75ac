-- title: Kernels by operator
-- One row per kernel, PyTorch operator, input shapes and module: the innermost operator around the launch. A Systems
-- report takes operators from its linked PyTorch profiler trace; durations are its own. Launches that the trace lacks,
-- or that no operator made, have an empty operator. Longest total first.
-- page: kernels
-- prefetch: part
-- needs: kernel
-- needs: trace_operator
-- includes: selection, traced
-- selects: part
-- joins: trace
-- param: kernel =  number of a kernel, or a full name; empty: all
-- param: launch =  row of a single kernel (kernel_id)
-- column: kernel | text | | number of the kernel in this report
-- column: name = Kernel | text | | readable name without templates and arguments
-- column: operator | text | | innermost operator around the launch, in PyTorch's name
-- column: shapes = Input shapes | text | | sizes of the inputs, one list per input; 500 characters at most
-- column: types = Input types | text | | types of the inputs; 500 characters at most
-- column: modules = Module | text | | modules around the operator, outermost first; for a backward operator those of its forward one
-- column: calls = Launches | count | | number of launches
-- column: total_ns | ns | | sum of durations
-- column: share_pct | % | .2f | share of the kernel time of all rows
-- column: avg_ns = Average | ns | .1f | mean duration
-- column: stack = Python stack | text | | Python frames around the operator or its forward one, innermost first, without PyTorch and built-in functions; the most time-consuming stack if there are several
WITH RECURSIVE chosen AS MATERIALIZED (
    SELECT kernel.kernel_id, name_id, end_ns - start_ns AS ns FROM selected_kernel AS kernel
    WHERE ($kernel::VARCHAR IS NULL OR name_id IN (FROM kernel_ids($kernel::VARCHAR)))
        AND ($launch::BIGINT IS NULL OR kernel_id = $launch::BIGINT)
), launch AS (
    SELECT name_id, operator, dims_id, types_id, modules, arg_max(stack_id, ns) AS stack_id,
        arg_max(source_id, ns) AS source_id, count(*) AS calls, sum(ns)::BIGINT AS total_ns
    FROM chosen LEFT JOIN (FROM kernel_operator($launch::BIGINT)) AS one USING (kernel_id)
    GROUP BY name_id, operator, dims_id, types_id, modules
), whole AS MATERIALIZED (
    SELECT kernel, any_value(short) AS short, any_value(demangled) AS demangled, operator, dims_id, types_id, modules,
        arg_max(stack_id, total_ns) AS stack_id, arg_max(source_id, total_ns) AS source_id,
        sum(calls)::BIGINT AS calls, sum(total_ns)::BIGINT AS total_ns
    FROM launch JOIN kernel_key USING (name_id) GROUP BY kernel, operator, dims_id, types_id, modules
), source AS (
    SELECT DISTINCT range_id AS source_id, start_ns, end_ns, global_tid
    FROM trace_range JOIN whole ON source_id = range_id
), frame AS ( -- the last call that started before, and those around it
    SELECT source_id, source.end_ns AS until_ns, call.global_tid, call.parent_id, name_id, call.end_ns, 0 AS depth
    FROM source ASOF JOIN trace_python_call AS call
        ON call.global_tid = source.global_tid AND source.start_ns >= call.start_ns
    UNION ALL
    SELECT source_id, until_ns, call.global_tid, call.parent_id, call.name_id, call.end_ns, depth + 1
    FROM frame JOIN trace_python_call AS call
        ON call.python_id = frame.parent_id AND call.global_tid = frame.global_tid
    WHERE depth < 1000
), python AS (
    SELECT source_id, string_agg(value, '; ' ORDER BY depth) AS frames
    FROM frame JOIN trace_string ON string_id = name_id
    WHERE end_ns >= until_ns AND NOT regexp_matches(value, '^(.*/)?torch/|^<built-in|^nn\.Module: ')
    GROUP BY source_id
)
SELECT kernel, readable_name(short, demangled) AS name, operator, shortened(dims.value, 500) AS shapes,
    shortened(types.value, 500) AS types, modules, calls, total_ns,
    100.0 * total_ns / nullif(sum(total_ns) OVER (), 0) AS share_pct, total_ns / calls AS avg_ns,
    shortened(coalesce(stacks.value, frames), 4000) AS stack
FROM whole LEFT JOIN python USING (source_id) LEFT JOIN trace_string AS dims ON dims.string_id = dims_id
LEFT JOIN trace_string AS types ON types.string_id = types_id
LEFT JOIN trace_string AS stacks ON stacks.string_id = stack_id
ORDER BY total_ns DESC, kernel, operator, shapes, types, modules;
