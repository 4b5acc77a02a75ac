-- The model of operator work, by all of its inputs, and for each executed operator.
-- includes: operator_work

-- FLOPs of matrix products, convolutions and attention with the bytes that they read and write once, and bytes of
-- low-arithmetic operators; each as if the operator were the innermost one with a formula.
CREATE OR REPLACE VIEW operator_model AS
WITH signature AS MATERIALIZED (FROM operator_signature), matmul AS (
    SELECT signature.*, sizes[a] AS x, CASE family WHEN 'linear' THEN list_reverse(sizes[b]) ELSE sizes[b] END AS y, a,
        b, operator_matmul_flops(x, y) AS flops, operator_element_bytes(types[a]) AS size
    FROM signature JOIN operator_formula USING (name)
), conv AS (
    SELECT signature.*, sizes[1] AS x, sizes[2] AS w, is_transposed OR lower("values"[transposed]) = 'true' AS back,
        CASE WHEN back THEN x[3:] ELSE operator_conv_sizes(
            x, w, operator_numbers("values"[stride]), operator_numbers("values"[padding]),
            coalesce(operator_numbers("values"[dilation]), [1])
        ) END AS area
    FROM signature JOIN operator_conv_formula USING (name) WHERE len(x) = len(w) AND len(x) > 2
), conv_backward AS (
    SELECT signature.*, sizes[2] AS x, sizes[3] AS w, sizes[1] AS gradient,
        CASE WHEN lower("values"[8]) = 'true' THEN x[3:] ELSE gradient[3:] END AS area,
        list_sum(list_transform(TRY_CAST(lower("values"[11]) AS BOOLEAN[])[:2], wanted -> wanted::INTEGER)) AS parts
    FROM signature
    WHERE name = 'aten::convolution_backward' AND len(x) = len(w) AND len(x) > 2 AND len(gradient) = len(x)
), attention AS (
    SELECT signature.*, sizes[q] AS q, sizes[q + 1] AS k, sizes[q + 2] AS v, types[q] AS type, is_flat, is_backward,
        operator_element_bytes(types[q]) AS size, lower("values"[causal]) IN ('true', '1', '2') AS causal
    FROM signature JOIN operator_attention_formula AS formula USING (name)
    WHERE lengths IS NULL OR coalesce(len(sizes[lengths]), 0) = 0
), traffic AS (
    SELECT signature.*, way,
        list_transform(range(1, len(types) + 1),
            i -> operator_element_bytes(types[i]) * operator_elements(sizes[i], strides[i])) AS moved
    FROM signature JOIN operator_traffic USING (name)
), whole AS (  -- the sizes of HLO operations end with those of their results (ingest/xplane/hlo.py)
    SELECT signature.*, list_transform(range(1, len(types) + 1),
            i -> operator_element_bytes(types[i]) * operator_product(sizes[i])) AS moved
    FROM signature WHERE "values" = ['sizes end with the results'] AND len(types) = len(sizes)
), modeled AS (
    SELECT name_id, dims_id, types_id, strides_id, values_id, flops, operator_precision(types[a]) AS precision,
        size * (operator_elements(x, strides[a]) + operator_elements(y, CASE WHEN name <> 'aten::linear'
            THEN strides[b] END) + flops / (2 * nullif(x[-1], 0))) AS bytes
    FROM matmul
    UNION ALL
    SELECT name_id, dims_id, types_id, strides_id, values_id, 2.0 * x[1] * operator_product(area) * operator_product(w),
        operator_precision(types[1]), operator_element_bytes(types[1]) * (operator_product(x) + operator_product(w)
            + CASE WHEN back THEN 0 ELSE x[1]::DOUBLE * w[1] * operator_product(area) END)
    FROM conv
    UNION ALL
    SELECT name_id, dims_id, types_id, strides_id, values_id,
        2.0 * x[1] * operator_product(area) * operator_product(w) * parts, operator_precision(types[1]),
        operator_element_bytes(types[1]) * (
            operator_product(gradient) + parts * (operator_product(x) + operator_product(w))
        )
    FROM conv_backward
    UNION ALL
    SELECT name_id, dims_id, types_id, strides_id, values_id,
        operator_attention_flops(q, k, v, is_flat, is_backward, coalesce(causal, false)), operator_precision(type),
        size * CASE WHEN is_backward THEN 2 ELSE 1 END * (operator_product(q) + operator_product(k)
            + operator_product(v) + operator_product(q) / nullif(q[-1], 0) * v[-1])
    FROM attention
    UNION ALL
    SELECT name_id, dims_id, types_id, strides_id, values_id, NULL, NULL, CASE way
            WHEN 'map' THEN list_sum(moved) + list_max(moved)
            WHEN 'inplace' THEN list_sum(moved) + moved[1]
            WHEN 'copy' THEN moved[1] + moved[2] WHEN 'fill' THEN moved[1] WHEN 'reduce' THEN moved[1]
            WHEN 'same' THEN 2 * moved[1] END
    FROM traffic
    UNION ALL
    SELECT name_id, dims_id, types_id, strides_id, values_id, NULL, operator_precision(types[1]), list_sum(moved)
    FROM whole
)
SELECT name_id, dims_id, types_id, strides_id, values_id, precision,
    CASE WHEN flops BETWEEN 0 AND 1e18 THEN flops END AS flops,
    CASE WHEN bytes BETWEEN 0 AND 1e15 THEN bytes END AS bytes
FROM modeled;

-- FLOPs and bytes of each executed operator: FLOPs from the trace, else from the model, only at the innermost operator
-- that has any, so that nothing counts twice; bytes of that operator, or of a low-arithmetic one. Copies between host
-- and GPU have no bytes here: their roof is the link.
CREATE OR REPLACE VIEW operator_instance_work AS
WITH instance AS MATERIALIZED (
    SELECT range_id, pre, post, coalesce(CASE WHEN operator.flops > 0 THEN operator.flops::DOUBLE END, model.flops)
        AS flops, coalesce(operator.flops > 0, false) AS traced, bytes, precision
    FROM operator JOIN range USING (range_id) LEFT JOIN operator_model AS model
        ON model.name_id = range.name_id AND model.dims_id = operator.dims_id
        AND model.types_id IS NOT DISTINCT FROM operator.types_id
        AND model.strides_id IS NOT DISTINCT FROM operator.strides_id
        AND model.values_id IS NOT DISTINCT FROM operator.values_id
    WHERE operator.flops > 0 OR model.flops > 0
        OR (bytes > 0 AND pre NOT IN (SELECT thread_range FROM memop WHERE copy_kind IN (1, 2) AND thread_range >= 0))
), inner_one AS (
    SELECT range_id FROM (
        SELECT range_id, post, lead(pre) OVER (ORDER BY pre) AS next_pre FROM instance WHERE flops > 0
    ) WHERE next_pre IS NULL OR next_pre > post
)
SELECT range_id, pre, post, CASE WHEN inner_one.range_id IS NOT NULL THEN flops END AS flops,
    traced AND inner_one.range_id IS NOT NULL AS traced, precision,
    CASE WHEN inner_one.range_id IS NOT NULL OR coalesce(flops, 0) = 0 THEN bytes END AS bytes
FROM instance LEFT JOIN inner_one USING (range_id)
WHERE inner_one.range_id IS NOT NULL OR coalesce(flops, 0) = 0;
