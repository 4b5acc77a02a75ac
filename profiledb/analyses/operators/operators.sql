-- title: Operators
-- One row per operator of a PyTorch trace, counted as in torch.profiler's key_averages: an operator that only calls one
-- of the same name merges with it, and profiler bookkeeping is left out. CPU times cover operators that started in the
-- selection, GPU times selected operations. FLOPs come from the trace, else from a model of the shapes, and count only
-- at the innermost operator that has any: aten::linear has none, its aten::addmm has.
-- page: operators
-- show: operator 260, device_self_ns, device_ns, share_pct bar 100, calls, host_self_ns, host_ns, shapes, flops 96
-- show: flops_per_s 110, least_bytes 100, least_bytes_per_s 110, flops_from 100
-- prefetch: part limit=1000
-- needs: operator
-- includes: selection, operator_group
-- selects: part
-- param: search =  keeps operators whose name contains this text, ignoring case; not a pattern
-- param: limit =  at most this many rows
-- column: operator | text | | name in the trace
-- column: calls | count | | operators that started in the selection
-- column: device_self_ns = GPU self | ns | | GPU time launched by the operator itself: kernels, memcpy and memset
-- column: device_ns = GPU total | ns | | GPU time launched by the operator and all nested operators
-- column: share_pct | % | .2f | GPU self as a share of that of all operators
-- column: host_self_ns = CPU self | ns | | CPU time without nested operators, annotations, CUDA calls and Python functions
-- column: host_ns = CPU total | ns | | CPU time from start to end
-- column: shapes | count | | number of different input sizes and types
-- column: flops = FLOPs | FLOP | .0f | floating-point operations; an FMA counts as two
-- column: flops_from = FLOPs from | text | | trace, or model: a formula of the shapes
-- column: flops_per_s = Achieved | FLOP/s | .0f | FLOPs over GPU total, of calls that have both
-- column: least_bytes = Least bytes | bytes | .0f | minimum bytes of the model: inputs and outputs, each moved once; actual traffic can be higher
-- column: least_bytes_per_s = Least traffic | bytes/s | .0f | minimum bytes over GPU total if there are FLOPs, else over GPU self
-- column: longest_start_ns | ns | | start of the call with the most device time, from the start of the capture
-- column: longest_end_ns | ns | | end of the same call on the CPU
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
