-- title: Roofline of operators
-- One row per operator, input sizes and types with FLOPs or minimum bytes, and GPU time. Both are models: FLOPs from a
-- formula of the shapes, unless the trace has them, and bytes as if inputs and outputs moved once. The traffic that
-- Nsight Compute measures can be higher, or lower if a cache holds the inputs. Roofs are dense peaks of the GPU with
-- the most kernel time. FP32 operators that ran TF32 kernels use the TF32 peak.
-- page: operators
-- show: operator 240, shape 280, verdict 118, roof_gap_ns 136, pct_of_roof bar 130, work_ns, share_pct bar 100, calls
-- show: bound 90, intensity, flops_per_s, least_bytes_per_s, precision 90, types 160
-- needs: operator
-- includes: selection, operator_group, operator_peak, share
-- selects: part
-- param: limit =  at most this many rows
-- column: operator | text | | name in the trace
-- column: shape | text | | sizes of the tensor inputs, shortened if there are many
-- column: types | text | | types of the tensor inputs
-- column: calls | count | | operators that started in the selection
-- column: work_ns = Time | ns | | GPU time of the work: GPU total with FLOPs, else GPU self
-- column: share_pct | % | .2f | share of the GPU time of all operators
-- column: precision | text | | precision of the peak, from the input type; empty without FLOPs
-- column: intensity | FLOP/byte | .3f | FLOPs over minimum bytes: an upper bound for any traffic of the same work
-- column: flops_per_s = Achieved | FLOP/s | .0f | FLOPs over the time
-- column: least_bytes_per_s = Least traffic | bytes/s | .0f | minimum bytes over the time
-- column: peak_flops_per_s = Peak | FLOP/s | .0f | dense peak of the GPU in this precision
-- column: peak_bytes_per_s = Memory peak | bytes/s | .0f | bandwidth of its memory
-- column: peak_from | text | | source of the compute peak
-- column: pct_of_roof = Roof efficiency | % | .1f | work over the roof, or traffic over the bandwidth; empty above 105 %
-- column: roof_gap_ns = Saving at the roof | ns | .0f | time saved at the roof: time × (1 − roof efficiency); 0 above the roof
-- column: bound = Roof | text | | the roof above it: memory left of the ridge point, compute right of it
-- column: above_roof | text | | why the roof efficiency is empty: it would be above 105 %
-- column: gpu | text | | the GPU whose roofs these are
-- column: verdict | text | | memory bound or compute bound, from 60 % of that roof on; below it the model does not tell why: not measured
-- column: reason = Why | text | | the number behind the verdict, or why there is none
WITH tf32 AS (
    SELECT DISTINCT work.range_id FROM (
        SELECT thread_range FROM selected_kernel SEMI JOIN (
            FROM kernel_name WHERE regexp_matches(demangled, 'tf32|s1688(gemm|cudnn|fprop|dgrad|wgrad)', 'i')
        ) USING (name_id) WHERE thread_range IS NOT NULL
    ) AS kernel ASOF JOIN (FROM operator_instance_work WHERE flops > 0 AND precision = 'fp32') AS work
        ON kernel.thread_range >= work.pre
    WHERE kernel.thread_range <= work.post
), by_tf32 AS (
    SELECT DISTINCT name_id, dims_id, types_id FROM tf32 JOIN operator USING (range_id) JOIN range USING (range_id)
), work AS (
    SELECT shape.*, sum(device_self_ns) OVER () AS all_ns,
        CASE WHEN flops > 0 THEN CASE WHEN by_tf32.name_id IS NOT NULL THEN 'tf32' ELSE precision END END AS held,
        CASE WHEN flops > 0 THEN flops_ns ELSE bytes_ns END AS work_ns
    FROM selected_operator_shape AS shape LEFT JOIN by_tf32
        ON by_tf32.name_id = shape.name_id AND by_tf32.dims_id IS NOT DISTINCT FROM shape.dims_id
        AND by_tf32.types_id IS NOT DISTINCT FROM shape.types_id
), memory AS (
    SELECT any_value(peak_bytes_per_s) AS peak_bytes_per_s, any_value(gpu) AS gpu FROM operator_roof
), rated AS (
    SELECT work.*, text, 1e9 * timed_flops / work_ns AS flops_per_s, 1e9 * timed_bytes / work_ns AS bytes_per_s,
        CASE WHEN held IS NOT NULL OR flops IS NULL THEN coalesce(flops, 0) / bytes END AS intensity,
        roof.peak_flops_per_s, memory.peak_bytes_per_s, peak_from, memory.gpu
    FROM work JOIN range_name USING (name_id) LEFT JOIN operator_roof AS roof ON roof.precision = held CROSS JOIN memory
    WHERE work_ns > 0
), roofed AS (
    SELECT *, CASE WHEN flops > 0 THEN least(peak_flops_per_s + 0 * intensity * peak_bytes_per_s,
                intensity * peak_bytes_per_s + 0 * peak_flops_per_s) END AS roof,
        CASE WHEN flops > 0 THEN flops_per_s ELSE bytes_per_s END AS achieved
    FROM rated
), judged AS (
    SELECT *, CASE WHEN flops > 0 THEN roof ELSE peak_bytes_per_s END AS limit_per_s,
        CASE WHEN flops IS NULL OR intensity * peak_bytes_per_s < peak_flops_per_s THEN 'memory'
            WHEN intensity * peak_bytes_per_s >= peak_flops_per_s THEN 'compute' END AS bound
    FROM roofed
)
SELECT text AS operator, operator_shape_text(d.value) AS shape, operator_type_text(t.value) AS types, calls,
    work_ns::BIGINT AS work_ns, 100.0 * work_ns / nullif(all_ns, 0) AS share_pct, held AS precision, intensity,
    coalesce(flops_per_s, 0) AS flops_per_s, bytes_per_s AS least_bytes_per_s, peak_flops_per_s, peak_bytes_per_s,
    peak_from, share_of_peak(achieved, limit_per_s) AS pct_of_roof,
    work_ns * greatest(0, 1 - achieved / nullif(limit_per_s, 0)) AS roof_gap_ns, bound,
    peak_contradiction(achieved, limit_per_s, CASE WHEN flops > 0 THEN 'FLOP' ELSE 'B' END, bound || ' roof of ' || gpu,
        CASE WHEN bound = 'memory' THEN 'A cache can hold what the model has come from memory'
            ELSE 'The precision of the kernels or the model of the work is another one' END) AS above_roof, gpu,
    CASE WHEN pct_of_roof >= 60 THEN bound || ' bound' ELSE 'not measured' END AS verdict,
    CASE WHEN pct_of_roof >= 60 THEN format('{:.1f} % of the {} roof of the model', pct_of_roof, bound)
        WHEN pct_of_roof IS NOT NULL
            THEN format('{:.1f} % of the {} roof of the model; ncu measures what limits it', pct_of_roof, bound)
        WHEN above_roof IS NOT NULL THEN 'the model contradicts the GPU''s peak'
        ELSE 'no peak of this GPU is known' END AS reason
FROM judged LEFT JOIN string AS d ON d.string_id = dims_id LEFT JOIN string AS t ON t.string_id = types_id
ORDER BY work_ns DESC, operator, shape, types
LIMIT $limit::BIGINT;
