-- title: Operators
-- One row per operator of a PyTorch trace, as torch.profiler's key_averages counts them: an operator that does nothing
-- but call one of the same name is one with it, and bookkeeping of the profiler is left out. CPU times are those of
-- operators that began in the selection, GPU times those of selected operations. FLOPs are those that the trace has,
-- else those of a model of the shapes, and count only at the innermost operator that has any: aten::linear has none,
-- the aten::addmm in it has.
-- page: operators
-- show: operator 260, device_self_ns, device_ns, share_pct bar 100, calls, host_self_ns, host_ns, shapes, flops 96
-- show: flops_per_s 110, least_bytes 100, least_bytes_per_s 110, flops_from 100
-- prefetch: part limit=1000
-- needs: operator
-- includes: selection, operator_group
-- selects: part
-- param: search =  keeps operators whose name contains this text, in upper or lower case; not a pattern
-- param: limit =  at most this many rows
-- column: operator | text | | name as the trace has it
-- column: calls | count | | operators that began in the selection
-- column: device_self_ns = GPU self | ns | | GPU time of what it launched itself: kernels, memcpy and memset
-- column: device_ns = GPU total | ns | | GPU time of what it and all operators in it launched
-- column: share_pct | % | .2f | GPU self as a share of that of all operators
-- column: host_self_ns = CPU self | ns | | CPU time without what lies in it: operators, annotations, CUDA calls, Python functions
-- column: host_ns = CPU total | ns | | CPU time from start to end
-- column: shapes | count | | different sizes and types of inputs
-- column: flops = FLOPs | FLOP | .0f | floating-point operations; an FMA counts as two
-- column: flops_from = FLOPs from | text | | trace, or model: a formula of the shapes
-- column: flops_per_s = Achieved | FLOP/s | .0f | FLOPs over GPU total, of calls that have both
-- column: least_bytes = Least bytes | bytes | .0f | model: inputs and outputs, each moved once; the traffic can be more
-- column: least_bytes_per_s = Least traffic | bytes/s | .0f | least bytes over GPU total where there are FLOPs, else over GPU self
-- column: longest_start_ns | ns | | start of the call with the most device time, from the start of the capture
-- column: longest_end_ns | ns | | its end on the CPU
WITH total AS (
    SELECT name_id, sum(calls) AS calls, sum(device_self_ns) AS device_self_ns, sum(device_ns) AS device_ns,
        sum(host_self_ns) AS host_self_ns, sum(host_ns) AS host_ns, count(*) AS shapes, sum(flops) AS flops,
        bool_or(traced) AS traced, sum(timed_flops) AS timed_flops, sum(flops_ns) AS flops_ns, sum(bytes) AS bytes,
        sum(timed_bytes) AS timed_bytes, sum(bytes_ns) AS bytes_ns, sum(sum(device_self_ns)) OVER () AS all_ns,
        arg_max(longest_start_ns, longest_ns) AS longest_start_ns, arg_max(longest_end_ns, longest_ns) AS longest_end_ns
    FROM selected_operator_shape GROUP BY name_id
)
SELECT text AS operator, calls::BIGINT AS calls, device_self_ns::BIGINT AS device_self_ns,
    device_ns::BIGINT AS device_ns, 100.0 * device_self_ns / nullif(all_ns, 0) AS share_pct,
    host_self_ns::BIGINT AS host_self_ns, host_ns::BIGINT AS host_ns, shapes, flops,
    CASE WHEN flops > 0 THEN CASE WHEN traced THEN 'trace' ELSE 'model' END END AS flops_from,
    1e9 * timed_flops / nullif(flops_ns, 0) AS flops_per_s, bytes AS least_bytes,
    1e9 * timed_bytes / nullif(bytes_ns, 0) AS least_bytes_per_s,
    longest_start_ns - capture_window.start_ns AS longest_start_ns,
    longest_end_ns - capture_window.start_ns AS longest_end_ns
FROM total JOIN range_name USING (name_id) CROSS JOIN capture_window
WHERE $search::VARCHAR IS NULL OR contains(lower(text), lower($search::VARCHAR))
ORDER BY device_self_ns DESC, host_self_ns DESC, operator
LIMIT $limit::BIGINT;
