-- title: Operators by shape
-- One row per operator, input sizes and types; times and FLOPs as in `operators`. The profiler records shapes on
-- request (record_shapes).
-- page: operators
-- show: operator 240, shape 300, types 150, device_self_ns, device_ns, share_pct bar 100, calls, host_self_ns
-- show: host_ns, flops 96, flops_per_s 110, least_bytes 100, least_bytes_per_s 110, flops_from 100
-- needs: operator
-- includes: operator_group
-- selects: part
-- param: search =  keeps operators whose name contains this text, ignoring case; not a pattern
-- param: operator =  keeps the operator of this name
-- param: limit =  at most this many rows
-- column: operator | text | | name in the trace
-- column: shape | text | | sizes of the tensor inputs, shortened if there are many
-- column: types | text | | types of the tensor inputs
-- column: calls | count | | operators that started in the selection
-- column: device_self_ns = GPU self | ns | | GPU time launched by the operator itself: kernels, memcpy and memset
-- column: device_ns = GPU total | ns | | GPU time launched by the operator and all nested operators
-- column: share_pct | % | .2f | GPU self as a share of that of all operators
-- column: host_self_ns = CPU self | ns | | CPU time without nested operators, annotations, CUDA calls and Python functions
-- column: host_ns = CPU total | ns | | CPU time from start to end
-- column: flops = FLOPs | FLOP | .0f | floating-point operations of all calls; an FMA counts as two
-- column: flops_from = FLOPs from | text | | trace, or model: a formula of the shapes
-- column: flops_per_s = Achieved | FLOP/s | .0f | FLOPs over GPU total, of calls that have both
-- column: least_bytes = Least bytes | bytes | .0f | minimum bytes of the model: inputs and outputs, each moved once; actual traffic can be higher
-- column: least_bytes_per_s = Least traffic | bytes/s | .0f | minimum bytes over GPU total if there are FLOPs, else over GPU self
-- column: dims | text | | sizes of all inputs, as in the trace
WITH matched AS (
    SELECT shape.*, text, sum(device_self_ns) OVER () AS all_ns
    FROM selected_operator_shape AS shape JOIN range_name USING (name_id)
    QUALIFY ($search::VARCHAR IS NULL OR contains(lower(text), lower($search::VARCHAR)))
        AND ($operator::VARCHAR IS NULL OR text = $operator::VARCHAR)
)
SELECT text AS operator, operator_shape_text(d.value) AS shape, operator_type_text(t.value) AS types, calls,
    device_self_ns, device_ns, 100.0 * device_self_ns / nullif(all_ns, 0) AS share_pct, host_self_ns, host_ns, flops,
    CASE WHEN flops > 0 THEN CASE WHEN traced THEN 'trace' ELSE 'model' END END AS flops_from,
    1e9 * timed_flops / nullif(flops_ns, 0) AS flops_per_s, bytes AS least_bytes,
    1e9 * timed_bytes / nullif(bytes_ns, 0) AS least_bytes_per_s, d.value AS dims
FROM matched LEFT JOIN string AS d ON d.string_id = dims_id LEFT JOIN string AS t ON t.string_id = types_id
ORDER BY device_self_ns DESC, host_self_ns DESC, operator, dims, types
LIMIT $limit::BIGINT;
