-- Operators of the selection, summed by the requested groups.
-- includes: operator_time

-- Readable input sizes, 4096×768, 768×3072; non-tensors and single numbers are left out.
CREATE OR REPLACE MACRO operator_shape_text(dims) AS left(trim(regexp_replace(replace(replace(replace(replace(
    regexp_replace(dims, '\s', '', 'g'), '],[', '; '), ',', '×'), '[', ''), ']', ''), '(; )+', ', ', 'g'), ', '), 300);

-- Short input types, without non-tensors.
CREATE OR REPLACE MACRO operator_type_text(types) AS left(trim(regexp_replace(regexp_replace(
    regexp_replace(types, '"(Scalar|ScalarList|)"', '', 'g'), '["\[\]]|c10::', '', 'g'), '[, ]*,[, ]*', ', ', 'g'),
    ', '), 300);

-- Times and work by name, sizes and types. Work is compared with its own time: FLOPs with the operator and all nested
-- ones, bytes of low-arithmetic operators with their self time.
CREATE OR REPLACE VIEW selected_operator_shape AS
WITH timed AS (
    SELECT *, CASE WHEN flops > 0 THEN device_ns ELSE device_self_ns END AS work_ns FROM selected_operator
)
SELECT name_id, dims_id, types_id, count(*) FILTER (is_kept) AS calls,
    coalesce(sum(device_self_ns), 0)::BIGINT AS device_self_ns, coalesce(sum(device_ns), 0)::BIGINT AS device_ns,
    coalesce(sum(host_self_ns) FILTER (is_kept), 0)::BIGINT AS host_self_ns,
    coalesce(sum(host_ns) FILTER (is_kept), 0)::BIGINT AS host_ns, sum(flops) FILTER (is_kept) AS flops,
    bool_or(traced) AS traced, sum(flops) FILTER (is_kept AND work_ns > 0) AS timed_flops,
    sum(work_ns) FILTER (is_kept AND flops > 0) AS flops_ns, sum(bytes) FILTER (is_kept) AS bytes,
    sum(bytes) FILTER (is_kept AND work_ns > 0) AS timed_bytes,
    sum(work_ns) FILTER (is_kept AND bytes > 0) AS bytes_ns, any_value(precision) AS precision,
    max(device_ns) AS longest_ns, arg_max(start_ns, device_ns) AS longest_start_ns,
    arg_max(end_ns, device_ns) AS longest_end_ns
FROM timed GROUP BY name_id, dims_id, types_id;
